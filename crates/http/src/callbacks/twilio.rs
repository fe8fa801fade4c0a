//! Twilio's requests: a call's status, who answered it, and its audio. The carrier adapter checks and parses all of
//! them.

use actix_http::ws::CloseCode;
use actix_web::FromRequest;
use actix_web::dev::Payload;
use actix_web::web::Data;
use futures_util::future::{Ready, ready};
use offhook_services::{CarrierCallback, MediaConnection};

use super::one_header;
use crate::prelude::*;
use crate::request::body::{MAX_BODY_BYTES, bytes_up_to};
use crate::websocket::{self, Line, Speaker};

const SIGNATURE: &str = "x-twilio-signature";

pub(super) fn routes() -> Vec<Endpoint> {
    let incoming_at = Endpoint::at("/callbacks/twilio/incoming");
    let at = Endpoint::at("/callbacks/twilio/{handle}/{kind}");
    vec![incoming_at.post(incoming), at.get(media).post(report)]
}

/// The unread body.
struct Raw(Payload);

impl FromRequest for Raw {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(_: &HttpRequest, payload: &mut Payload) -> Self::Future {
        ready(Ok(Self(payload.take())))
    }
}

/// The response to a request that failed verification.
fn unbelieved() -> HttpResponse {
    HttpResponse::Forbidden().finish()
}

fn header(req: &HttpRequest) -> impl Fn(&str) -> Option<String> + Sync {
    let headers = req.headers().clone();
    move |name| {
        let value = headers.get(name)?;
        value.to_str().ok().map(str::to_owned)
    }
}

/// The request as the carrier adapter reads it.
fn callback<'a>(
    req: &'a HttpRequest,
    header: &'a (dyn Fn(&str) -> Option<String> + Sync),
    body: &'a [u8],
) -> CarrierCallback<'a> {
    let query = req.query_string();
    CarrierCallback {
        path: req.uri().path(),
        query: (!query.is_empty()).then_some(query),
        header,
        body,
    }
}

/// `POST /callbacks/twilio/{handle}/status` and `…/amd`
async fn report(req: HttpRequest, state: Data<HttpState>, body: Raw) -> Reply {
    let Some(door) = state.services.carrier_door() else {
        return Ok(unbelieved());
    };
    if one_header(req.headers(), SIGNATURE).is_none() {
        return Ok(unbelieved());
    }
    let body = bytes_up_to(&req, body.0, MAX_BODY_BYTES).await?;
    Ok(match door.callback(&callback(&req, &header(&req), &body)) {
        true => HttpResponse::NoContent().finish(),
        false => unbelieved(),
    })
}

/// `POST /callbacks/twilio/incoming`: Twilio asks what to do with an incoming call.
async fn incoming(req: HttpRequest, state: Data<HttpState>, body: Raw) -> Reply {
    if state.services.carrier_door().is_none() || one_header(req.headers(), SIGNATURE).is_none() {
        return Ok(unbelieved());
    }
    let body = bytes_up_to(&req, body.0, MAX_BODY_BYTES).await?;
    let header = header(&req);
    let inbound = state.services.inbound();
    let answer = inbound.come_in(&callback(&req, &header, &body)).await;
    Ok(answer.map_or_else(unbelieved, |twiml| {
        HttpResponse::Ok().content_type("text/xml").body(twiml)
    }))
}

/// `GET /callbacks/twilio/{handle}/media`: the WebSocket of a call's audio, authenticated by its token.
async fn media(req: HttpRequest, state: Data<HttpState>, body: Raw) -> Reply {
    let Some(door) = state.services.carrier_door() else {
        return Ok(unbelieved());
    };
    let Some(connection) = door.media(req.uri().path()) else {
        return Ok(unbelieved());
    };
    let speaker = Media(connection);
    let opened = websocket::open(&req, body.0, state.closing.clone(), speaker);
    Ok(opened.unwrap_or_else(|| HttpResponse::UpgradeRequired().finish()))
}

/// A call's audio, in text messages that the carrier's own connection reads and writes.
struct Media(Box<dyn MediaConnection>);

impl Speaker for Media {
    const PROTOCOL: Option<&str> = None;
    const MOST_BINARY: usize = 0;
    const MOST_OTHERS: u32 = u32::MAX;
    type News = Option<String>;

    async fn news(&mut self) -> Option<String> {
        self.0.next().await
    }

    fn tell(&mut self, news: Option<String>, line: &mut Line) {
        match news {
            Some(text) => line.text(text),
            None => line.close(CloseCode::Normal, "the call is over"),
        }
    }

    fn text(&mut self, text: &[u8], line: &mut Line) {
        let is_taken = std::str::from_utf8(text).is_ok_and(|text| self.0.receive(text));
        if !is_taken {
            line.close(CloseCode::Policy, "that is no stream of a call here");
        }
    }

    fn binary(&mut self, _bytes: &[u8], _line: &mut Line) {}
}
