//! The pages that people use, in a real browser.

mod attackers;
mod deeds;
mod ended;
mod furnished;
mod reference;
mod session;
mod stage;
mod tour;
mod two_browsers;
mod walk;
mod widget;
