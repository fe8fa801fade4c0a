//! `/callbacks/whatsapp/{account_id}`: the webhook of WhatsApp's Cloud API. A token verifies it at setup; the
//! account's app signs every notification.

use std::collections::HashMap;

use actix_web::http::header::ContentType;
use actix_web::web;
use offhook_services::WhatsAppError;

use super::one_header;
use crate::prelude::*;
use crate::request::body::bytes_up_to;

/// The longest challenge in characters; WhatsApp's have ten digits.
const CHALLENGE_CHARS: usize = 256;

/// The largest webhook in bytes, as Meta documents it.
const WEBHOOK_BYTES: usize = 3 * 1024 * 1024;

pub(super) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at("/callbacks/whatsapp/{account_id}");
    vec![at.get(verify).post(receive)]
}

fn account(req: &HttpRequest) -> Option<AccountId> {
    req.match_info().get("account_id")?.parse().ok()
}

fn refused() -> HttpResponse {
    HttpResponse::Forbidden().finish()
}

/// `GET`: WhatsApp verifies that the address is the account's, and gets its own challenge back.
async fn verify(state: web::Data<HttpState>, req: HttpRequest) -> Reply {
    let query = web::Query::<HashMap<String, String>>::from_query(req.query_string());
    let query = query.map(web::Query::into_inner).unwrap_or_default();
    let of = |name: &str| query.get(name).map_or("", String::as_str);
    let challenge = of("hub.challenge");
    let is_plain = (1..=CHALLENGE_CHARS).contains(&challenge.len())
        && challenge.bytes().all(|byte| byte.is_ascii_graphic());
    let Some(account) = account(&req).filter(|_| is_plain && of("hub.mode") == "subscribe") else {
        return Ok(refused());
    };
    let whatsapp = state.services.whatsapp();
    let token = of("hub.verify_token");
    Ok(match whatsapp.is_verify_token(account, token).await? {
        true => HttpResponse::Ok()
            .content_type(ContentType::plaintext())
            .body(challenge.to_owned()),
        false => refused(),
    })
}

/// `POST`: customers' messages, and the status of messages to them. 200 once they are stored.
async fn receive(state: web::Data<HttpState>, req: HttpRequest, payload: web::Payload) -> Reply {
    let signature = one_header(req.headers(), "x-hub-signature-256");
    let Some((account, signature)) = account(&req).zip(signature) else {
        return Ok(refused());
    };
    let body = bytes_up_to(&req, payload.into_inner(), WEBHOOK_BYTES).await?;
    let whatsapp = state.services.whatsapp();
    let taken = whatsapp.receive(account, signature, &body);
    match taken.await {
        Ok(()) => Ok(HttpResponse::Ok().finish()),
        Err(WhatsAppError::Forged) => Ok(refused()),
        Err(WhatsAppError::Store(error)) => Err(error.into()),
    }
}
