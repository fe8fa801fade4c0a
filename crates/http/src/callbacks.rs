//! What providers send of their own accord, at `/callbacks/<provider>/…`: no part of the interface, so without
//! key and envelope. Each provider's file looks at account and signature before
//! it takes the body, verifies that before it reads a word of it, and answers every caller
//! that it does not believe alike: 403 without a body, whether the account exists or not.

mod legacy;
mod twilio;
mod whatsapp;

use actix_web::http::header::HeaderMap;

use crate::routes::Endpoint;

/// Every provider's paths.
pub(crate) fn routes() -> Vec<Endpoint> {
    [legacy::routes(), twilio::routes(), whatsapp::routes()]
        .into_iter()
        .flatten()
        .collect()
}

/// The text of a header that is there once.
fn one_header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut lines = headers.get_all(name);
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return None;
    };
    line.to_str().ok()
}
