//! What providers send of their own accord, at `/callbacks/<provider>/…`: no part of the interface, so without
//! key and envelope. Each provider's file verifies the raw body before it reads a word of it, and answers every caller
//! that it does not believe alike: 403 without a body, whether the account exists or not.

mod legacy;
mod twilio;
mod whatsapp;

use crate::routes::Endpoint;

/// Every provider's paths.
pub(crate) fn routes() -> Vec<Endpoint> {
    [legacy::routes(), twilio::routes(), whatsapp::routes()]
        .into_iter()
        .flatten()
        .collect()
}
