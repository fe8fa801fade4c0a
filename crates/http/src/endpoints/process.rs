//! The probes of the process, outside the API: `/healthz`, `/readyz`.

use std::time::Duration;

use actix_web::{HttpResponse, web};
use offhook_services::Health;
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::HttpState;
use crate::reply::{self, Reply};
use crate::routes::Endpoint;

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![at("/healthz").get(healthz), at("/readyz").get(readyz)]
}

/// How long `/readyz` may cache the state "ready".
const READY_FOR: Duration = Duration::from_secs(1);

/// How long `/readyz` may cache any other state.
const UNREADY_FOR: Duration = Duration::from_millis(100);

const REDIS_OUT_OF_REACH: &str = "Redis is out of reach (redis_url), so requests cannot be counted: each is answered \
                                  503 rate_limit_unavailable until it is back";

#[derive(Serialize)]
struct Status<'a> {
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// The last result. However often clients probe, the database is queried once a second.
#[derive(Debug, Default)]
pub(crate) struct Readiness(Mutex<Option<(Instant, Result<(), String>)>>);

impl Readiness {
    async fn look(&self, health: &Health) -> Result<(), String> {
        let mut last = self.0.lock().await;
        if !health.is_stopping()
            && let Some((at, said)) = &*last
        {
            let keeps = if said.is_ok() { READY_FOR } else { UNREADY_FOR };
            if at.elapsed() < keeps {
                return said.clone();
            }
        }
        let asked = Instant::now();
        let said = health.ready().await;
        *last = Some((asked, said.clone()));
        said
    }
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
        said => said,
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
