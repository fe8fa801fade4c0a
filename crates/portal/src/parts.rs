//! What pages are made of.

pub(crate) mod agent_choice;
pub(crate) mod authors;
pub(crate) mod chart;
pub(crate) mod diff;
pub(crate) mod form;
pub(crate) mod icon;
pub(crate) mod json;
pub(crate) mod list;
pub(crate) mod passkey;
pub(crate) mod period;
pub(crate) mod sample;
pub(crate) mod secret;
pub(crate) mod version;
pub(crate) mod words;
