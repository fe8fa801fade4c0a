//! The probes of the process, outside the API: `/healthz`, `/readyz`.

use actix_web::web;

use crate::prelude::*;

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![at("/healthz").get(healthz), at("/readyz").get(readyz)]
}

const REDIS_OUT_OF_REACH: &str = "Redis is out of reach (redis_url), so requests cannot be counted: each is answered \
                                  503 rate_limit_unavailable until it is back";

#[derive(Serialize)]
struct Status<'a> {
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// The process is alive.
async fn healthz() -> Reply {
    reply::ok(&Status {
        status: "ok",
        reason: None,
    })
}

/// Whether the process can serve; if not, 503 gives the reason.
async fn readyz(state: web::Data<HttpState>) -> Reply {
    let health = state.services.health();
    let ready = match state.readiness.look(health).await {
        Ok(()) if !state.limits.are_known() => Err(REDIS_OUT_OF_REACH.to_owned()),
        answer => answer,
    };
    match ready {
        Ok(()) => reply::ok(&Status {
            status: "ready",
            reason: None,
        }),
        Err(reason) => Ok(HttpResponse::ServiceUnavailable().json(Status {
            status: if health.is_stopping() {
                "stopping"
            } else {
                "unavailable"
            },
            reason: Some(&reason),
        })),
    }
}
