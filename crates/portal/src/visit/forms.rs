//! Forms as they arrive: from a page of ours, in one piece, and with the token of the session that they were drawn for.

use actix_web::HttpRequest;
use actix_web::http::header::{CONTENT_TYPE, ORIGIN};
use actix_web::web::{BytesMut, Payload};
use futures_util::StreamExt as _;
use offhook_domain::AccountId;
use ring::hmac;

use super::portal_of;
use crate::fields::Fields;
use crate::trouble::Trouble;

/// The hidden field that proves that a form is of this session.
pub(crate) const TOKEN_FIELD: &str = "_token";

/// The largest form: an agent's whole configuration with room to spare.
const MAX_FORM_BYTES: usize = 1024 * 1024;

/// Browsers say where a form comes from; what comes from elsewhere is refused before anything is read.
pub(crate) fn check_origin(req: &HttpRequest) -> Result<(), Trouble> {
    let said = |name: &str| {
        let value = req.headers().get(name);
        value.and_then(|value| value.to_str().ok())
    };
    if said("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none") {
        return Err(Trouble::Forged);
    }
    let Some(origin) = said(ORIGIN.as_str()) else {
        return Ok(());
    };
    // A proxy may have rewritten the host; then the address that customers know tells.
    let is_public = portal_of(req)
        .and_then(|portal| portal.config.public_url.clone())
        .is_some_and(|url| url.trim_end_matches('/') == origin);
    let host = req.connection_info().host().to_owned();
    let is_ours = origin
        .split_once("://")
        .is_some_and(|(_, named)| named == host);
    match is_public || is_ours {
        true => Ok(()),
        false => Err(Trouble::Forged),
    }
}

/// The fields of a form of ours.
pub(crate) async fn read_form(req: &HttpRequest, body: Payload) -> Result<Fields, Trouble> {
    read_form_of(req, body, MAX_FORM_BYTES).await
}

/// The same, of a form of at most `most` bytes.
pub(crate) async fn read_form_of(
    req: &HttpRequest,
    mut body: Payload,
    most: usize,
) -> Result<Fields, Trouble> {
    let kind = req.headers().get(CONTENT_TYPE);
    let is_form = kind
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    let mut bytes = BytesMut::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|_| Trouble::Unreadable)?;
        if bytes.len() + chunk.len() > most {
            return Err(Trouble::Unreadable);
        }
        bytes.extend_from_slice(&chunk);
    }
    if !is_form && !bytes.is_empty() {
        return Err(Trouble::Unreadable);
    }
    Ok(Fields::parse(&bytes))
}

/// The token that forms of a session carry while it is in this account: one that was drawn for another does nothing here.
/// It names the account, for a form whose session has ended.
pub(crate) fn token_of(session: &str, account: AccountId) -> String {
    let tag = hmac::sign(&form_key(session), form_of(account).as_bytes());
    format!("{account}.{}", hex::encode(tag))
}

/// Whether a form of this session and account carries this token.
pub(super) fn is_token_of(session: &str, account: AccountId, token: &str) -> bool {
    let key = form_key(session);
    let form = form_of(account);
    let tag = token.split_once('.').map_or("", |(_, tag)| tag);
    hex::decode(tag).is_ok_and(|tag| hmac::verify(&key, form.as_bytes(), &tag).is_ok())
}

/// The account that a form's token names: where its sender was, if they tell the truth.
pub(crate) fn account_named(token: &str) -> Option<AccountId> {
    token.split_once('.')?.0.parse().ok()
}

/// What the token of a session's forms signs.
fn form_of(account: AccountId) -> String {
    format!("form:{account}")
}

fn form_key(session: &str) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, session.as_bytes())
}
