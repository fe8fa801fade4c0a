//! What the store hands out and takes in: rows with the domain's types, without JSON and without rules.

mod accounts;
mod agents;
mod batches;
mod calls;
mod conversations;
mod credentials;
mod integrations;
mod legacy;
mod numbers;
mod team;
mod tools;
mod webhooks;

use offhook_domain::Timestamp;

pub use accounts::*;
pub use agents::*;
pub use batches::*;
pub use calls::*;
pub use conversations::*;
pub use credentials::*;
pub use integrations::*;
pub use legacy::*;
pub use numbers::*;
pub use team::*;
pub use tools::*;
pub use webhooks::*;

/// Where a page begins: behind the row with this time and id, newest first.
pub type PageKey<Id> = (Timestamp, Id);
