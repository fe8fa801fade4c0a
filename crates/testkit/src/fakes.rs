//! Fakes of the services that Offhook works with, each a file of its own over [`crate::upstream`]: they speak the
//! provider's wire format, remember what they were asked, and misbehave on demand.

pub mod calendar;
pub mod crm;
pub mod elevenlabs;
pub mod oauth;
pub mod twilio;
pub mod voices;
pub mod whatsapp;
