//! Every setting, its default and what it may be.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use offhook_domain::{Plan, PlanTerms, Plans, VoiceProvider};
use offhook_providers::{EmbeddingsSettings, ProviderSettings, VoiceLibrarySettings};
use url::{Position, Url};

use super::given::{Given, Raw};
use super::integrations::integrations;
use super::objects::objects;
use super::sip::sip;
use super::speech::speech;
use super::twilio::twilio;
use super::whatsapp::whatsapp;
use super::{
    CallSettings, HttpSettings, LimitSettings, LogFormat, Result, Secret, Settings, SettingsError,
    SimulatorSettings, TelemetrySettings, TlsSettings, WebhookSettings,
};

const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

/// "Per-IP rate: 300 requests/min" and "Per-IP rate for calls: 10 requests/min".
const IP_PER_MINUTE: u32 = 300;
const CALL_IP_PER_MINUTE: u32 = 10;

const MAX_PER_MINUTE: u32 = offhook_ratelimit::MAX_PER_MINUTE;
const MAX_DAYS: u32 = 36_500;
const MAX_AMOUNT: u32 = 1_000_000_000;
const MAX_DIMENSIONS: u32 = 8_192;
const MAX_LIVE_CALLS: u32 = 1_000_000;
const MAX_SPEED: f64 = 10_000.0;

/// A queued call is never dialed after this long.
const MAX_QUEUE_SECONDS: u32 = 120;
const DRAIN_SECONDS: u32 = 600;
const DAY_SECONDS: u32 = 86_400;

/// Providers that are built in.
const BUILT_IN: [&str; 2] = ["scripted", "custom"];

pub(super) fn settings(given: &mut Given) -> Result<Settings> {
    let carrier = given.read("calls.carrier", carrier)?;
    let is_sip = carrier == Some(CarrierName::Sip);
    let is_twilio = carrier == Some(CarrierName::Twilio);
    let http = http(given)?;
    let database_url = given.read("database_url", database_url)?;
    let twilio = twilio(given, is_twilio, &http, database_url.is_some())?;
    Ok(Settings {
        listen: given.read("listen", address)?.unwrap_or(DEFAULT_LISTEN),
        data_dir: given
            .read("data_dir", path)?
            .unwrap_or_else(|| "data".into()),
        database_url,
        redis_url: given.read("redis_url", redis_url)?,
        master_key_file: given.read("master_key_file", path)?,
        objects: objects(given)?,
        http,
        limits: LimitSettings {
            ip_per_minute: per_minute(given, "limits.ip_per_minute", IP_PER_MINUTE)?,
            call_ip_per_minute: per_minute(given, "limits.call_ip_per_minute", CALL_IP_PER_MINUTE)?,
            enabled: given.read("limits.enabled", Raw::bool)?.unwrap_or(true),
        },
        plans: plans(given)?,
        webhooks: webhooks(given)?,
        calls: calls(given)?,
        sip: sip(given, is_sip)?,
        twilio,
        speech: speech(given)?,
        simulator: SimulatorSettings {
            speed: given.read("simulator.speed", |raw| raw.positive(MAX_SPEED))?,
            url: given.read("simulator.url", Raw::text)?,
        },
        models: models(given)?,
        legacy_base_url: given.read("legacy.base_url", base_url)?,
        voices: voices(given)?,
        whatsapp: whatsapp(given)?,
        integrations: integrations(given)?,
        embeddings: embeddings(given)?,
        telemetry: telemetry(given)?,
        metrics_listen: given.read("metrics.listen", metrics_address)?,
        log_format: given
            .read("log.format", log_format)?
            .unwrap_or(LogFormat::Pretty),
    })
}

fn http(given: &mut Given) -> Result<HttpSettings> {
    Ok(HttpSettings {
        tls: tls(given)?,
        public_url: given.read("http.public_url", origin)?,
        behind_tls_proxy: given
            .read("http.behind_tls_proxy", Raw::bool)?
            .unwrap_or(false),
        trusted_proxies: given
            .read("http.trusted_proxies", networks)?
            .unwrap_or_default(),
        cors_origins: given
            .read("http.cors_origins", origins)?
            .unwrap_or_default(),
    })
}

fn tls(given: &mut Given) -> Result<Option<TlsSettings>> {
    let cert = given.read("http.tls_cert", path)?;
    let key = given.read("http.tls_key", path)?;
    let lone = |given: &str, missing: &str, what: &str| {
        SettingsError(format!(
            "setting `{given}` needs `{missing}`: name the file of {what}, or remove both"
        ))
    };
    match (cert, key) {
        (Some(cert), Some(key)) => Ok(Some(TlsSettings { cert, key })),
        (Some(_), None) => Err(lone("http.tls_cert", "http.tls_key", "its private key")),
        (None, Some(_)) => Err(lone("http.tls_key", "http.tls_cert", "the certificate")),
        (None, None) => Ok(None),
    }
}

fn webhooks(given: &mut Given) -> Result<WebhookSettings> {
    Ok(WebhookSettings {
        allow_private_targets: given
            .read("webhooks.allow_private_targets", Raw::bool)?
            .unwrap_or(false),
        retry_offsets: given
            .read("webhooks.retry_offsets", offsets)?
            .unwrap_or(offhook_dispatch::RETRY_OFFSETS),
        auto_disable: given
            .read("webhooks.auto_disable", Raw::bool)?
            .unwrap_or(false),
    })
}

fn calls(given: &mut Given) -> Result<CallSettings> {
    let mut seconds = |key, min, default| {
        given
            .read(key, |raw| raw.integer(min, DAY_SECONDS))
            .map(|seconds| Duration::from_secs(u64::from(seconds.unwrap_or(default))))
    };
    Ok(CallSettings {
        max_queue: seconds("calls.max_queue_seconds", 1, MAX_QUEUE_SECONDS)?,
        drain: seconds("calls.drain_seconds", 0, DRAIN_SECONDS)?,
        allowed_prefixes: given
            .read("calls.allowed_prefixes", prefixes)?
            .unwrap_or_default(),
    })
}

fn plans(given: &mut Given) -> Result<Plans> {
    let mut plans = Plans::default();
    for plan in Plan::ALL {
        let terms = terms(given, plan.as_str(), plans.terms(plan))?;
        *plans.terms_mut(plan) = terms;
    }
    Ok(plans)
}

fn terms(given: &mut Given, plan: &str, default: &PlanTerms) -> Result<PlanTerms> {
    let mut terms = default.clone();
    let key = |name: &str| format!("plans.{plan}.{name}");
    terms.requests_per_minute = per_minute(
        given,
        &key("requests_per_minute"),
        terms.requests_per_minute,
    )?;
    let bounded = [
        ("retention_days", 1, MAX_DAYS, &mut terms.retention_days),
        ("seats_max", 1, MAX_AMOUNT, &mut terms.seats_max),
        ("usd_per_month", 0, MAX_AMOUNT, &mut terms.usd_per_month),
        (
            "credits_per_month",
            0,
            MAX_AMOUNT,
            &mut terms.credits_per_month,
        ),
    ];
    for (name, min, max, term) in bounded {
        if let Some(value) = given.read(&key(name), |raw| raw.integer_or_none(min, max))? {
            *term = value;
        }
    }
    if let Some(value) = given.read(&key("engine_module"), Raw::bool)? {
        terms.engine_module = value;
    }
    if let Some(value) = given.read(&key("live_calls"), |raw| raw.integer(0, MAX_LIVE_CALLS))? {
        terms.live_calls = value;
    }
    Ok(terms)
}

fn models(given: &mut Given) -> Result<BTreeMap<String, ProviderSettings>> {
    let mut models = BTreeMap::new();
    for provider in given.names_in("models") {
        let key = |name: &str| format!("models.{provider}.{name}");
        if BUILT_IN.contains(&provider.as_str()) {
            let fault = format!(
                "section `models.{provider}`: this provider is built in and takes no settings"
            );
            return Err(SettingsError(fault));
        }
        let base_url = given.read(&key("base_url"), base_url)?;
        let api_key = given.read(&key("api_key"), Raw::text)?;
        let base_url = base_url.ok_or_else(|| {
            let key = key("base_url");
            SettingsError(format!(
                "setting `{key}` is missing: give the URL that the service's paths follow"
            ))
        })?;
        models.insert(provider, ProviderSettings { base_url, api_key });
    }
    // Named so that an unknown setting can be told what was meant.
    given.read("models.<provider>.base_url", Raw::text)?;
    given.read("models.<provider>.api_key", Raw::text)?;
    Ok(models)
}

fn voices(given: &mut Given) -> Result<BTreeMap<VoiceProvider, VoiceLibrarySettings>> {
    let mut voices = BTreeMap::new();
    for provider in VoiceProvider::ALL.iter().copied() {
        let key = |name: &str| format!("voices.{provider}.{name}");
        let base_url = given.read(&key("base_url"), base_url)?;
        let api_key = given.read(&key("api_key"), Raw::text)?;
        let missing = |name: &str| {
            let key = key(name);
            SettingsError(format!(
                "setting `{key}` is missing: a voice provider needs `base_url` and `api_key`"
            ))
        };
        match (base_url, api_key) {
            (None, None) => {}
            (Some(base_url), Some(api_key)) => {
                let settings = VoiceLibrarySettings { base_url, api_key };
                voices.insert(provider, settings);
            }
            (None, _) => return Err(missing("base_url")),
            (_, None) => return Err(missing("api_key")),
        }
    }
    Ok(voices)
}

fn embeddings(given: &mut Given) -> Result<Option<EmbeddingsSettings>> {
    let base_url = given.read("knowledge.embeddings.base_url", base_url)?;
    let model = given.read("knowledge.embeddings.model", Raw::text)?;
    let api_key = given.read("knowledge.embeddings.api_key", Raw::text)?;
    let dimensions = given.read("knowledge.embeddings.dimensions", |raw| {
        raw.integer(1, MAX_DIMENSIONS)
    })?;
    let missing = |name: &str| {
        SettingsError(format!(
            "setting `knowledge.embeddings.{name}` is missing: embeddings need `base_url` and `model`"
        ))
    };
    match (base_url, model) {
        (Some(base_url), Some(model)) => Ok(Some(EmbeddingsSettings {
            base_url,
            model,
            api_key,
            dimensions,
        })),
        (None, None) if api_key.is_none() && dimensions.is_none() => Ok(None),
        (None, _) => Err(missing("base_url")),
        (_, None) => Err(missing("model")),
    }
}

fn telemetry(given: &mut Given) -> Result<Option<TelemetrySettings>> {
    let endpoint = given.read("telemetry.otlp_endpoint", base_url)?;
    let sample = given.read("telemetry.sample", |raw| raw.positive(1.0))?;
    match (endpoint, sample) {
        (Some(otlp_endpoint), sample) => Ok(Some(TelemetrySettings {
            otlp_endpoint,
            sample: sample.unwrap_or(1.0),
        })),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(SettingsError(
            "setting `telemetry.sample` needs `telemetry.otlp_endpoint`: name the collector, or remove it"
                .to_owned(),
        )),
    }
}

fn per_minute(given: &mut Given, key: &str, default: u32) -> Result<u32> {
    let value = given.read(key, |raw| raw.integer(1, MAX_PER_MINUTE))?;
    Ok(value.unwrap_or(default))
}

pub(super) fn path(raw: Raw) -> Result<PathBuf, String> {
    raw.text().map(PathBuf::from)
}

fn address(raw: Raw) -> Result<SocketAddr, String> {
    let wrong = || "must be an IP address and a port, such as 127.0.0.1:8080".to_owned();
    raw.text()?.parse().map_err(|_| wrong())
}

pub(super) fn socket_address(raw: Raw) -> Result<SocketAddr, String> {
    let wrong = || "must be an IP address and a port, such as 192.0.2.10:5060".to_owned();
    raw.text()?.parse().map_err(|_| wrong())
}

/// The figures are served in the clear and without a key, so not where anybody could read them.
fn metrics_address(raw: Raw) -> Result<SocketAddr, String> {
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

fn database_url(raw: Raw) -> Result<Secret, String> {
    let text = raw.text()?;
    match text.split_once("://") {
        Some(("postgres" | "postgresql", _)) => Ok(Secret(text)),
        _ => Err(
            "must begin with postgres://; for the embedded SQLite remove it and set `data_dir`"
                .to_owned(),
        ),
    }
}

fn redis_url(raw: Raw) -> Result<Secret, String> {
    let text = raw.text()?;
    let named = matches!(text.split_once("://"), Some(("redis" | "rediss", _)));
    if named && offhook_ratelimit::RedisStore::is_url(&text) {
        Ok(Secret(text))
    } else {
        Err("must be such as redis://user:password@host:6379/0, or rediss://… for TLS".to_owned())
    }
}

fn log_format(raw: Raw) -> Result<LogFormat, String> {
    match raw.text()?.as_str() {
        "pretty" => Ok(LogFormat::Pretty),
        "json" => Ok(LogFormat::Json),
        _ => Err("must be pretty or json".to_owned()),
    }
}

/// `calls.carrier`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CarrierName {
    Simulator,
    Sip,
    Twilio,
}

fn carrier(raw: Raw) -> Result<CarrierName, String> {
    match raw.text()?.as_str() {
        "simulator" => Ok(CarrierName::Simulator),
        "sip" => Ok(CarrierName::Sip),
        "twilio" => Ok(CarrierName::Twilio),
        _ => Err("must be simulator, sip or twilio".to_owned()),
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
    let url = Url::parse(text).ok()?;
    let is_bare = matches!(&url[Position::BeforePath..], "" | "/")
        && url.username().is_empty()
        && url.password().is_none();
    (matches!(url.scheme(), "http" | "https") && is_bare)
        .then(|| url.origin().ascii_serialization())
}

fn origins(raw: Raw) -> Result<Vec<String>, String> {
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

fn networks(raw: Raw) -> Result<Vec<ipnet::IpNet>, String> {
    let wrong = || "must be a list of networks, such as [\"10.0.0.0/8\"]".to_owned();
    let read = |text: String| {
        let network = text.parse().ok();
        network
            .or_else(|| text.parse::<std::net::IpAddr>().ok().map(Into::into))
            .ok_or_else(wrong)
    };
    raw.list()?.into_iter().map(read).collect()
}

fn prefixes(raw: Raw) -> Result<Vec<String>, String> {
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

fn offsets(raw: Raw) -> Result<[Duration; 3], String> {
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
    let url = Url::parse(&text).ok();
    let is_good = url.is_some_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    });
    if is_good {
        Ok(text)
    } else {
        Err("must be a whole http or https URL without user name and password, such as https://api.openai.com/v1".to_owned())
    }
}
