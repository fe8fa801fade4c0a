//! What Twilio sends: what becomes of a call, who answered it, and its sound. The carrier itself looks at all of it;
//! nothing is read here.

use actix_http::ws::{hash_key, verify_handshake};
use actix_web::dev::Payload;
use actix_web::http::header::{SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY};
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use futures_util::future::{Ready, ready};
use futures_util::stream;
use offhook_services::CarrierCallback;

use super::media_socket::Socket;
use crate::body::{MAX_BODY_BYTES, bytes_up_to};
use crate::connection::Turn;
use crate::reply::Reply;
use crate::routes::Endpoint;
use crate::{ApiError, HttpState};

/// The paths.
pub(super) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/callbacks/twilio/media").get(media),
        at("/callbacks/twilio/{handle}/{kind}").post(told),
    ]
}

/// The body, as it comes.
struct Raw(Payload);

impl FromRequest for Raw {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(_: &HttpRequest, payload: &mut Payload) -> Self::Future {
        ready(Ok(Self(payload.take())))
    }
}

/// What whoever is not believed is told.
fn unbelieved() -> HttpResponse {
    HttpResponse::Forbidden().finish()
}

/// `POST /callbacks/twilio/{handle}/status` and `…/amd`
async fn told(req: HttpRequest, state: Data<HttpState>, body: Raw) -> Reply {
    let Some(door) = state.services.carrier_door() else {
        return Ok(unbelieved());
    };
    let body = bytes_up_to(req.headers(), body.0, MAX_BODY_BYTES).await?;
    let query = req.query_string();
    let header = |name: &str| {
        let value = req.headers().get(name)?;
        value.to_str().ok().map(str::to_owned)
    };
    let callback = CarrierCallback {
        path: req.uri().path(),
        query: (!query.is_empty()).then_some(query),
        header: &header,
        body: &body,
    };
    Ok(match door.callback(&callback) {
        true => HttpResponse::NoContent().finish(),
        false => unbelieved(),
    })
}

/// `GET /callbacks/twilio/media`: the WebSocket of a call's sound, which names its call itself.
async fn media(req: HttpRequest, state: Data<HttpState>, body: Raw) -> Reply {
    let Some(door) = state.services.carrier_door() else {
        return Ok(unbelieved());
    };
    let key = req.headers().get(SEC_WEBSOCKET_KEY);
    let (Ok(()), Some(key)) = (verify_handshake(req.head()), key) else {
        return Ok(HttpResponse::UpgradeRequired().finish());
    };
    let accept = hash_key(key.as_bytes());
    if let Some(turn) = req.conn_data::<Turn>() {
        turn.upgrade();
    }
    let socket = Socket::new(HttpState::clone(&state), body.0, door.media());
    let frames = stream::unfold(socket, |mut socket| async move {
        let bytes = socket.next().await?;
        Some((Ok::<_, ApiError>(bytes), socket))
    });
    Ok(HttpResponse::SwitchingProtocols()
        .upgrade("websocket")
        .insert_header((SEC_WEBSOCKET_ACCEPT, &accept[..]))
        .streaming(frames))
}
