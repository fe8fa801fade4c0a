//! Requests that providers send to `/callbacks/<provider>/…`. They are not part of the API, so they have no key and
//! no error envelope. Each provider's file checks the account and the presence of a signature before it reads the
//! body. It verifies the body before it parses it. Every request that fails these checks gets the same 403 without a
//! body, whether or not the account exists.

mod legacy;
mod twilio;
mod whatsapp;

use actix_web::http::header::HeaderMap;

use crate::endpoint::Endpoint;

pub(crate) fn routes() -> Vec<Endpoint> {
    [legacy::routes(), twilio::routes(), whatsapp::routes()]
        .into_iter()
        .flatten()
        .collect()
}

/// The text of a header that occurs exactly once.
fn one_header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut lines = headers.get_all(name);
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return None;
    };
    line.to_str().ok()
}
