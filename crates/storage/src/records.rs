//! The records that the store reads and writes: rows with the domain's types, without JSON and without rules.

mod about;
mod accounts;
mod agents;
mod analyses;
mod batches;
mod beginnings;
mod billing;
mod calls;
mod campaigns;
mod chats;
mod conversations;
mod credentials;
mod dialing;
mod endpoint_looks;
mod figures;
mod integrations;
mod knowledge;
mod legacy;
mod logs;
mod notes;
mod numbers;
mod overview;
mod people;
mod retention;
mod sealed;
mod team;
mod tools;
mod voices;
mod webhooks;
mod whatsapp;

use offhook_domain::Timestamp;

pub use about::*;
pub use accounts::*;
pub use agents::*;
pub use analyses::*;
pub use batches::*;
pub use beginnings::*;
pub use billing::*;
pub use calls::*;
pub use campaigns::*;
pub use chats::*;
pub use conversations::*;
pub use credentials::*;
pub use dialing::*;
pub use endpoint_looks::*;
pub use figures::*;
pub use integrations::*;
pub use knowledge::*;
pub use legacy::*;
pub use logs::*;
pub use notes::*;
pub use numbers::*;
pub use overview::*;
pub use people::*;
pub use retention::*;
pub use sealed::*;
pub use team::*;
pub use tools::*;
pub use voices::*;
pub use webhooks::*;
pub use whatsapp::*;

/// Where a page begins: after the row with this time and id, newest first.
pub type PageKey<Id> = (Timestamp, Id);
