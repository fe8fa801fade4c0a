//! `/v1/agents/{id}/versions`.

use actix_web::dev::{Path, Url};
use uuid::Uuid;

use crate::prelude::*;
use crate::request::ask::{AgentsRead, FromPath};
use crate::wire::agent::{VersionBody, VersionWithConfig};

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/v1/agents/{id}/versions").get(list),
        at("/v1/agents/{id}/versions/{version}").get(get),
    ]
}

/// A version of an agent. A malformed number becomes 0, which no version has.
struct VersionPath {
    agent: AgentId,
    version: i32,
}

impl FromPath for VersionPath {
    fn read(id: &str) -> Self {
        Self {
            agent: AgentId::read(id),
            version: 0,
        }
    }

    fn of(path: &Path<Url>) -> Self {
        let text = path.get("version").unwrap_or_default();
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        let version = text.parse().ok().filter(|_| is_number);
        Self {
            version: version.unwrap_or(0),
            ..Self::read(path.get("id").unwrap_or_default())
        }
    }
}

/// `GET /v1/agents/{id}/versions`
async fn list(ask: Ask<AgentsRead, AgentId, Listing<()>>) -> Reply {
    let after = ask.query.after.map(|(place, _)| place);
    let agents = ask.services().agents();
    let page = agents
        .versions(ask.account(), ask.id, after, ask.query.limit)
        .await?;
    ask.query
        .answer(&page, |view| (view.place(), Uuid::nil()), VersionBody)
}

/// `GET /v1/agents/{id}/versions/{version}`
async fn get(ask: Ask<AgentsRead, VersionPath>) -> Reply {
    let VersionPath { agent, version } = ask.id;
    let agents = ask.services().agents();
    let view = agents.version(ask.account(), agent, version).await?;
    reply::ok(&VersionWithConfig::from(&view))
}
