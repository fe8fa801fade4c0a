//! Widgets: which pages may talk to an agent, and how much that may cost.

mod limits;

use std::net::IpAddr;

use offhook_domain::body::{Flag, Integer, Optional, Or, Own, Required};
use offhook_domain::json::item_path;
use reqwest::Url;

use crate::error::Result;
use crate::prelude::*;

pub(crate) use limits::{count_credits, count_session};

const MAX_ORIGINS: usize = 20;

/// Characters of an origin: a scheme, the longest host name, a port.
const ORIGIN_CHARS: usize = 270;

/// The default and the highest number of sessions per minute of a widget.
const SESSIONS_PER_MINUTE: i64 = 10;
const MOST_SESSIONS_PER_MINUTE: i64 = 600;

body! {
    /// `PUT /v1/agents/{id}/widget`.
    #[derive(Debug)]
    pub SetWidget {
        enabled: bool, Required(Flag), "Whether pages may talk to the agent.";
        allowed_origins: Vec<String>, Or(Own(origins), Vec::new()), "Origins of the pages that may use the widget, exactly as browsers send them: `https://host[:port]`, or `http://` for localhost. At least one while the widget is enabled.";
        max_sessions_per_minute: Option<i64>, Optional(Integer(1..=MOST_SESSIONS_PER_MINUTE)), "Sessions that may start per minute, 1 to 600 (default 10).";
        daily_credit_cap: Option<i64>, Optional(Integer(0..=1_000_000_000)), "Credits that the widget's sessions may reserve and spend per UTC day; null: no limit besides the wallet.";
    }
}

#[derive(Clone)]
pub struct Widgets(pub(crate) Arc<Context>);

#[boxed]
impl Widgets {
    /// The widget of an agent; disabled until it is set.
    pub async fn get(&self, account: AccountId, id: AgentId) -> Result<WidgetSettings> {
        let agent = self.agent(account, id).await?;
        let settings = self.0.store.widget(agent.id).await?;
        Ok(settings.unwrap_or_else(|| WidgetSettings {
            max_sessions_per_minute: small(SESSIONS_PER_MINUTE),
            ..WidgetSettings::default()
        }))
    }

    /// Replaces the widget of an agent.
    pub async fn set(
        &self,
        account: AccountId,
        id: AgentId,
        body: &Json,
    ) -> Result<WidgetSettings> {
        let settings = read(body)?;
        let agent = self.agent(account, id).await?;
        check(&agent, settings.enabled)?;
        let store = &self.0.store;
        store.set_widget(account, id, settings.clone()).await?;
        Ok(settings)
    }

    async fn agent(&self, account: AccountId, id: AgentId) -> Result<Agent> {
        let found = self.0.store.agent_with_config(account, id, None).await?;
        found.map(|(agent, _)| agent).ok_or(UseCaseError::NotFound)
    }
}

fn check(agent: &Agent, enabled: bool) -> Result<()> {
    if agent.runtime == Runtime::Legacy {
        return Err(UseCaseError::UnsupportedRuntime(Refusal::LegacyWidget));
    }
    if !enabled {
        return Ok(());
    }
    if agent.status == AgentStatus::Archived {
        return Err(UseCaseError::Conflict(Refusal::WidgetOfArchived));
    }
    if agent.published_version == 0 {
        return Err(UseCaseError::Conflict(Refusal::WidgetOfUnpublished));
    }
    Ok(())
}

fn read(body: &Json) -> Result<WidgetSettings, FieldError> {
    let set = SetWidget::of(body, &())?;
    if set.enabled && set.allowed_origins.is_empty() {
        return Err(FieldError::new("allowed_origins", Fault::NoOrigin));
    }
    let per_minute = set.max_sessions_per_minute;
    Ok(WidgetSettings {
        enabled: set.enabled,
        origins: set.allowed_origins,
        max_sessions_per_minute: small(per_minute.unwrap_or(SESSIONS_PER_MINUTE)),
        daily_credit_cap: set.daily_credit_cap,
    })
}

fn origins(fields: &mut Fields<'_>, name: &str) -> Result<Vec<String>, FieldError> {
    let listed = fields.optional_array(name, 0..=MAX_ORIGINS)?;
    let mut origins: Vec<String> = Vec::new();
    for (at, item) in listed.unwrap_or_default().iter().enumerate() {
        let path = item_path(name, at);
        let origin = origin(item).map_err(|fault| FieldError::new(&path, fault))?;
        if origins.contains(&origin) {
            return Err(FieldError::new(&path, Fault::ThereTwice));
        }
        origins.push(origin);
    }
    Ok(origins)
}

fn small(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// An origin as browsers write it in `Origin`: any other form would never match.
fn origin(item: &Json) -> Result<String, Fault> {
    let text = item.as_str().ok_or(Fault::Origin)?;
    if text.len() > ORIGIN_CHARS {
        return Err(Fault::TooLong(ORIGIN_CHARS));
    }
    let url = Url::parse(text).map_err(|_| Fault::Origin)?;
    let secure = match url.scheme() {
        "https" => true,
        "http" => is_loopback(&url),
        _ => return Err(Fault::Origin),
    };
    if !secure {
        return Err(Fault::OriginHttps);
    }
    // Browsers never send a host that is not a single host name.
    let host = url.host_str().unwrap_or_default();
    let labels = host.strip_suffix('.').unwrap_or(host);
    if labels.contains('*') || labels.split('.').any(str::is_empty) {
        return Err(Fault::OriginHost);
    }
    let written = url.origin().ascii_serialization();
    let has_more = url.path() != "/"
        || url.query().is_some()
        || url.fragment().is_some()
        || !url.username().is_empty()
        || url.password().is_some();
    if has_more {
        return Err(Fault::Origin);
    }
    if written != text {
        return Err(Fault::OriginAs(written));
    }
    Ok(written)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(body: &str) -> String {
        let json = Json::parse(body.as_bytes()).unwrap();
        read(&json).map_or_else(|fault| fault.to_string(), |_| String::new())
    }

    fn listing(origin: &str) -> String {
        fault(&format!(
            r#"{{"enabled":true,"allowed_origins":["{origin}"]}}"#
        ))
    }

    #[test]
    fn an_origin_is_what_a_browser_sends() {
        for good in [
            "https://example.com",
            "https://www.example.com:8443",
            "https://xn--bcher-kva.example",
            "http://localhost:3000",
            "http://127.0.0.1",
            "http://[::1]:8080",
        ] {
            assert_eq!(listing(good), "", "{good}");
        }
        for bad in [
            "",
            "*",
            "null",
            "example.com",
            "https://",
            "ftp://example.com",
            "https://example.com/a",
            "https://example.com?x",
            "https://example.com#x",
            "https://u:p@example.com",
            "https://*.example.com/",
            "https://*.example.com",
            "https://shop*.example.com",
            "https://a..com",
            "file:///etc",
        ] {
            assert!(listing(bad).starts_with("`allowed_origins[0]`: "), "{bad}");
        }
        let http = "`allowed_origins[0]`: must begin with https://; http:// is for localhost alone";
        assert_eq!(listing("http://example.com"), http);
        assert_eq!(listing("http://localhost.example.com"), http);
        for (sloppy, exact) in [
            ("https://Example.com", "https://example.com"),
            ("https://example.com/", "https://example.com"),
            ("https://example.com:443", "https://example.com"),
            ("https://bücher.example", "https://xn--bcher-kva.example"),
        ] {
            let expected = format!("`allowed_origins[0]`: must be written as browsers do: {exact}");
            assert_eq!(listing(sloppy), expected);
        }
    }

    #[test]
    fn every_fault_is_named_in_documented_order() {
        assert_eq!(fault("{}"), "`enabled`: is required");
        assert_eq!(
            fault(r#"{"enabled":true}"#),
            "`allowed_origins`: must name at least one origin while the widget is enabled"
        );
        assert_eq!(
            fault(r#"{"enabled":false,"max_sessions_per_minute":0}"#),
            "`max_sessions_per_minute`: must be an integer from 1 to 600"
        );
        assert_eq!(
            fault(r#"{"enabled":false,"daily_credit_cap":-1}"#),
            "`daily_credit_cap`: must be an integer from 0 to 1000000000"
        );
        assert_eq!(
            fault(
                r#"{"enabled":false,"allowed_origins":["https://a.example","https://a.example"]}"#
            ),
            "`allowed_origins[1]`: is there twice"
        );
        assert_eq!(fault(r#"{"enabled":false,"x":1}"#), "`x`: unknown field");
        assert_eq!(fault(r#"{"enabled":false}"#), "");
    }
}
