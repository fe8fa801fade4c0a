//! The pages, a module for each section.

pub(crate) mod agents;
pub(crate) mod batches;
pub(crate) mod billing;
pub(crate) mod campaigns;
pub(crate) mod conversations;
pub(crate) mod dialing;
pub(crate) mod find;
pub(crate) mod first;
pub(crate) mod integrations;
pub(crate) mod join;
pub(crate) mod keys;
pub(crate) mod knowledge;
pub(crate) mod logs;
pub(crate) mod numbers;
pub(crate) mod overview;
pub(crate) mod passkeys;
mod passwords;
pub(crate) mod profile;
pub(crate) mod quick_start;
pub(crate) mod settings;
pub(crate) mod sign_in;
pub(crate) mod single_sign_on;
pub(crate) mod team;
pub(crate) mod tools;
pub(crate) mod trials;
pub(crate) mod two_step;
pub(crate) mod webhooks;

use crate::page::Page;

/// Every path. Fixed ones come before those with an id in the same position.
pub(crate) fn table() -> Vec<Page> {
    [
        sign_in::routes(),
        two_step::routes(),
        passkeys::routes(),
        single_sign_on::routes(),
        first::routes(),
        find::routes(),
        join::routes(),
        profile::routes(),
        overview::routes(),
        conversations::routes(),
        trials::routes(),
        agents::routes(),
        tools::routes(),
        knowledge::routes(),
        numbers::routes(),
        campaigns::routes(),
        batches::routes(),
        dialing::routes(),
        webhooks::routes(),
        keys::routes(),
        integrations::routes(),
        logs::routes(),
        team::routes(),
        billing::routes(),
        settings::routes(),
        quick_start::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
