//! What the value of a setting may be.

use std::net::IpAddr;
use std::str::FromStr;

use url::{Position, Url};

use super::given::Raw;
use super::{Result, Secret};
use crate::prelude::*;

const MAX_PER_MINUTE: u32 = offhook_ratelimit::MAX_PER_MINUTE;

/// Why a service's `base_url` is needed.
pub(super) const NO_BASE_URL: &str = "give the URL that the service's paths follow";

pub(super) fn per_minute(raw: Raw) -> Result<u32, String> {
    raw.integer(1, MAX_PER_MINUTE)
}

pub(super) fn path(raw: Raw) -> Result<PathBuf, String> {
    raw.text().map(PathBuf::from)
}

/// What a text stands for; `must` says what it must be.
pub(super) fn parsed<T: FromStr>(raw: Raw, must: &str) -> Result<T, String> {
    raw.text()?.parse().map_err(|_| format!("must be {must}"))
}

pub(super) fn address(raw: Raw) -> Result<SocketAddr, String> {
    parsed(raw, "an IP address and a port, such as 127.0.0.1:8080")
}

/// The figures are served in the clear and without a key, so not where anybody could read them.
pub(super) fn metrics_address(raw: Raw) -> Result<SocketAddr, String> {
    let address = address(raw)?;
    let is_private = match address.ip().to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
    };
    is_private.then_some(address).ok_or_else(|| {
        "must be a loopback or private address and a port, such as 127.0.0.1:9464, as it is served without key and TLS"
            .to_owned()
    })
}

pub(super) fn database_url(raw: Raw) -> Result<Secret, String> {
    let text = raw.text()?;
    match text.split_once("://") {
        Some(("postgres" | "postgresql", _)) => Ok(Secret(text)),
        _ => Err(
            "must begin with postgres://; for the embedded SQLite remove it and set `data_dir`"
                .to_owned(),
        ),
    }
}

pub(super) fn redis_url(raw: Raw) -> Result<Secret, String> {
    let text = raw.text()?;
    let named = matches!(text.split_once("://"), Some(("redis" | "rediss", _)));
    if named && offhook_ratelimit::RedisStore::is_url(&text) {
        Ok(Secret(text))
    } else {
        Err("must be such as redis://user:password@host:6379/0, or rediss://… for TLS".to_owned())
    }
}

/// Scheme and host, with a port perhaps; a slash at the end is dropped.
pub(super) fn origin(raw: Raw) -> Result<String, String> {
    let text = raw.text()?;
    as_origin(&text).ok_or_else(|| {
        "must be an http or https address without a path, such as https://voice.example.com"
            .to_owned()
    })
}

fn as_origin(text: &str) -> Option<String> {
    let url = open_url(text)?;
    let is_bare = matches!(&url[Position::BeforePath..], "" | "/");
    is_bare.then(|| url.origin().ascii_serialization())
}

/// An address of the web without user name and password.
fn open_url(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    })
}

pub(super) fn origins(raw: Raw) -> Result<Vec<String>, String> {
    let wrong = || {
        "must be a list of origins, such as [\"https://app.example.com\"], or [\"*\"] for any"
            .to_owned()
    };
    let read = |text: String| match text.as_str() {
        "*" => Ok(text),
        _ => as_origin(&text).ok_or_else(wrong),
    };
    raw.list()?.into_iter().map(read).collect()
}

pub(super) fn networks(raw: Raw) -> Result<Vec<ipnet::IpNet>, String> {
    let wrong = || "must be a list of networks, such as [\"10.0.0.0/8\"]".to_owned();
    let read = |text: String| {
        let network = text.parse().ok();
        network
            .or_else(|| text.parse::<std::net::IpAddr>().ok().map(Into::into))
            .ok_or_else(wrong)
    };
    raw.list()?.into_iter().map(read).collect()
}

pub(super) fn prefixes(raw: Raw) -> Result<Vec<String>, String> {
    let is_prefix = |text: &String| {
        let digits = text.strip_prefix('+').unwrap_or_default();
        (1..=15).contains(&digits.len())
            && !digits.starts_with('0')
            && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let list = raw.list()?;
    if list.iter().all(is_prefix) {
        Ok(list)
    } else {
        Err("must be a list of beginnings of numbers, such as [\"+52\", \"+1500\"]".to_owned())
    }
}

pub(super) fn offsets(raw: Raw) -> Result<[Duration; 3], String> {
    let wrong = || "must be three times, such as [\"5m\", \"30m\", \"2h\"]".to_owned();
    let times: Option<Vec<Duration>> = raw.list()?.iter().map(|text| duration(text)).collect();
    times
        .and_then(|times| times.try_into().ok())
        .ok_or_else(wrong)
}

/// `500ms`, `30s`, `5m`, `2h` or `1d`; at most 30 days.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let duration = Duration::from_millis(number.checked_mul(millis)?);
    (duration <= Duration::from_secs(30 * 86_400)).then_some(duration)
}

pub(super) fn base_url(raw: Raw) -> Result<String, String> {
    let text = raw.text()?;
    let must = "must be a whole http or https URL without user name and password, such as https://api.openai.com/v1";
    open_url(&text).map(|_| text).ok_or_else(|| must.to_owned())
}
