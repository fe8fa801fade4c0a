//! The pages, a module for each section.

pub(crate) mod agents;
pub(crate) mod batches;
pub(crate) mod billing;
pub(crate) mod conversations;
pub(crate) mod integrations;
pub(crate) mod keys;
pub(crate) mod knowledge;
pub(crate) mod logs;
pub(crate) mod numbers;
pub(crate) mod overview;
pub(crate) mod quick_start;
pub(crate) mod settings;
pub(crate) mod sign_in;
pub(crate) mod tools;
pub(crate) mod trials;
pub(crate) mod webhooks;

use crate::routes::Page;

/// Every path. Fixed ones stand before those with an id in the same place.
pub(crate) fn table() -> Vec<Page> {
    [
        sign_in::routes(),
        overview::routes(),
        conversations::routes(),
        trials::routes(),
        agents::routes(),
        tools::routes(),
        knowledge::routes(),
        numbers::routes(),
        batches::routes(),
        webhooks::routes(),
        keys::routes(),
        integrations::routes(),
        logs::routes(),
        billing::routes(),
        settings::routes(),
        quick_start::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
