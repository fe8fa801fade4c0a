//! Fakes of the providers that Offhook works with, one file each, over [`crate::upstream`]. They use the provider's
//! wire format, record their requests, and inject faults on demand.

pub mod cal_com;
pub mod calendar;
pub mod crm;
pub mod elevenlabs;
pub mod mcp;
pub mod oauth;
pub mod sheets;
pub mod slack;
pub mod twilio;
pub mod voices;
pub mod whatsapp;
