//! The portal's pages in a real browser.

mod attackers;
mod deeds;
mod ended;
mod furnished;
mod reference;
pub(crate) mod session;
pub(crate) mod stage;
mod tour;
mod walk;
mod widget;
