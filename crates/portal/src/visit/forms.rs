//! Forms without a file: read in one piece, with the token of the session that they were drawn for.

use actix_web::HttpRequest;
use actix_web::http::header::{CONTENT_TYPE, ORIGIN};
use actix_web::web::{BytesMut, Payload};
use futures_util::StreamExt as _;
use offhook_http::{BODY_TIMEOUT, Room, Sender, address_of, announced_length, time_for_body};
use ring::hmac;
use tokio::time::timeout;

use super::{Visitor, portal_of};
use crate::prelude::*;

/// The hidden field that proves that a form belongs to this session.
pub(crate) const TOKEN_FIELD: &str = "_token";

/// The header in which browsers say how the requesting page relates to this site (Fetch Metadata).
const SITE: &str = "sec-fetch-site";

/// Its value for a page of the portal.
const SAME_ORIGIN: &str = "same-origin";

/// The largest form: an agent's whole configuration with room to spare. A non-ASCII character is up to twelve bytes of it.
const MAX_FORM_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of a too large form that are read and discarded.
const READ_ON: usize = 16 * 1024 * 1024;

/// Browsers say where a form comes from; forms from elsewhere are refused before anything is read.
pub(crate) fn check_origin(req: &HttpRequest) -> Result<()> {
    let site = header(req, SITE);
    if site.is_some_and(|site| site != SAME_ORIGIN && site != "none") {
        return Err(Trouble::Forged);
    }
    let Some(origin) = header(req, ORIGIN.as_str()) else {
        return Ok(());
    };
    // A proxy may have rewritten the host: then the public address decides, scheme included.
    let public = portal_of(req).and_then(|portal| portal.config.public_url.clone());
    let public = public.as_deref().map(|url| url.trim_end_matches('/'));
    let host = req.connection_info().host().to_owned();
    let is_at = |address: &str| {
        address
            .split_once("://")
            .is_some_and(|(_, named)| named == host)
    };
    let is_ours = is_at(origin) && !public.is_some_and(is_at);
    match public == Some(origin) || is_ours {
        true => Ok(()),
        false => Err(Trouble::Forged),
    }
}

/// Whether the browser says that a page of the portal sent this form; [`check_origin`] has found nothing against it.
pub(super) fn is_of_our_page(req: &HttpRequest) -> bool {
    header(req, ORIGIN.as_str()).is_some() || header(req, SITE) == Some(SAME_ORIGIN)
}

fn header<'a>(req: &'a HttpRequest, name: &str) -> Option<&'a str> {
    req.headers().get(name)?.to_str().ok()
}

/// The fields of a form, sent by a member of this account if signed in.
pub(crate) async fn read_form(
    req: &HttpRequest,
    body: Payload,
    account: Option<AccountId>,
) -> Result<Fields> {
    read_form_of(req, body, account, MAX_FORM_BYTES).await
}

/// The same for a form of at most `most` bytes.
pub(crate) async fn read_form_of(
    req: &HttpRequest,
    body: Payload,
    account: Option<AccountId>,
    most: usize,
) -> Result<Fields> {
    let kind = req.headers().get(CONTENT_TYPE);
    let is_form = kind
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    if announced_length(req.headers()) > most as u64 {
        return Err(Trouble::TooLarge);
    }
    let time = match account {
        Some(_) => time_for_body(req.headers()),
        None => BODY_TIMEOUT,
    };
    let arrived = timeout(time, arrive(body, room(req, account), most));
    let bytes = arrived.await.unwrap_or(Err(Trouble::Unreadable))?;
    if !is_form && !bytes.is_empty() {
        return Err(Trouble::Unreadable);
    }
    Ok(Fields::parse(&bytes))
}

/// Room for a form of this account, or of a visitor who is not signed in.
pub(crate) fn room(req: &HttpRequest, account: Option<AccountId>) -> Option<Room> {
    let sender = match account {
        Some(account) => Some(Sender::Account(account)),
        None => address_of(req).map(Sender::Stranger),
    };
    sender.and_then(|sender| Room::of(req, sender))
}

/// The bytes of a form. A refused one is read to its end nevertheless, up to a limit: a browser shows the response only
/// after sending everything.
async fn arrive(mut body: Payload, mut room: Option<Room>, most: usize) -> Result<BytesMut> {
    let (mut bytes, mut came) = (BytesMut::new(), 0_usize);
    let mut fault = None;
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|_| Trouble::Unreadable)?;
        came += chunk.len();
        if came > most + READ_ON {
            break;
        }
        if fault.is_none() {
            fault = match &mut room {
                _ if came > most => Some(Trouble::TooLarge),
                Some(room) => room.grow_to(came).err().map(Trouble::Said),
                None => None,
            };
        }
        match fault {
            None => bytes.extend_from_slice(&chunk),
            Some(_) => (bytes, room) = (BytesMut::new(), None),
        }
    }
    fault.map_or(Ok(bytes), Err)
}

/// The token for a session's forms in this account: forms drawn for another account are refused. It names the account, for a
/// form whose session has ended.
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

/// The account that a form's token names; not verified.
pub(crate) fn account_named(token: &str) -> Option<AccountId> {
    token.split_once('.')?.0.parse().ok()
}

/// The text that a form's token signs.
fn form_of(account: AccountId) -> String {
    format!("form:{account}")
}

fn form_key(session: &str) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, session.as_bytes())
}

/// A form that is sent to `path` (behind `/portal`).
pub(crate) fn form(visitor: &Visitor, path: &str, fields: &Markup) -> Markup {
    html! {
        form method="post" action={ (crate::PATH) (path) } {
            input type="hidden" name=(TOKEN_FIELD) value=(visitor.form_token());
            (fields)
        }
    }
}

/// A form of one button, with hidden fields.
pub(crate) fn button(
    visitor: &Visitor,
    path: &str,
    label: &str,
    fields: &[(&str, &str)],
) -> Markup {
    form(
        visitor,
        path,
        &html! {
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            button type="submit" { (label) }
        },
    )
}
