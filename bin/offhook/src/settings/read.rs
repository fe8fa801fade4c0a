//! Every setting, its default and what it may be.

use std::net::IpAddr;

use offhook_providers::{EmbeddingsSettings, ProviderSettings, VoiceLibrarySettings};
use offhook_services::Seller;

use super::given::{Given, Raw, Section};
use super::integrations::integrations;
use super::objects::objects;
use super::sip::sip;
use super::speech::speech;
use super::twilio::twilio;
use super::values::{
    NO_BASE_URL, address, base_url, database_url, metrics_address, networks, offsets, origin,
    origins, path, per_minute, prefixes, redis_url,
};
use super::whatsapp::whatsapp;
use super::{
    CallSettings, HttpSettings, LimitSettings, LogFormat, Result, Settings, SettingsError,
    SimulatorSettings, TelemetrySettings, TlsSettings, WebhookSettings,
};
use crate::prelude::*;

const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

/// "Per-IP rate: 300 requests/min" and "Per-IP rate for calls: 10 requests/min".
const IP_PER_MINUTE: u32 = 300;
const CALL_IP_PER_MINUTE: u32 = 10;
const PAGE_IP_PER_MINUTE: u32 = 3_000;
const PAGE_SHARE_PERCENT: u32 = 50;

const DUE_DAYS: u32 = 30;
const MAX_DUE_DAYS: u32 = 365;
const MAX_PERCENT: f64 = 100.0;

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

/// Where OpenAI itself is.
const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

#[derive(Clone, Copy, PartialEq, Eq)]
enum CarrierName {
    Simulator,
    Sip,
    Twilio,
}

const CARRIERS: [(&str, CarrierName); 3] = [
    ("simulator", CarrierName::Simulator),
    ("sip", CarrierName::Sip),
    ("twilio", CarrierName::Twilio),
];

const LOG_FORMATS: [(&str, LogFormat); 2] =
    [("pretty", LogFormat::Pretty), ("json", LogFormat::Json)];

pub(super) fn settings(given: &mut Given) -> Result<Settings> {
    let carrier = given.read("calls.carrier", |raw| raw.one_of(&CARRIERS))?;
    let http = http(&mut given.section("http"))?;
    let database_direct_url = given.read("database_direct_url", database_url)?;
    let database_url = given.read("database_url", database_url)?;
    if database_direct_url.is_some() && database_url.is_none() {
        let (key, other) = ("database_direct_url", "database_url");
        let remedy = "name the database, or remove it";
        return Err(SettingsError::needs(key, other, remedy));
    }
    let is_twilio = carrier == Some(CarrierName::Twilio);
    let (speech, speech_voices) = speech(given)?;
    let twilio = twilio(given, is_twilio, &http, database_url.is_some())?;
    Ok(Settings {
        listen: given.read("listen", address)?.unwrap_or(DEFAULT_LISTEN),
        data_dir: given
            .read("data_dir", path)?
            .unwrap_or_else(|| "data".into()),
        database_url,
        database_direct_url,
        redis_url: given.read("redis_url", redis_url)?,
        master_key_file: given.read("master_key_file", path)?,
        objects: objects(given)?,
        http,
        limits: limits(&mut given.section("limits"))?,
        plans: plans(given)?,
        webhooks: webhooks(&mut given.section("webhooks"))?,
        calls: calls(&mut given.section("calls"))?,
        sip: sip(given, carrier == Some(CarrierName::Sip))?,
        twilio,
        speech,
        speech_voices,
        simulator: SimulatorSettings {
            speed: given.read("simulator.speed", |raw| raw.positive(MAX_SPEED))?,
            url: given.read("simulator.url", Raw::text)?,
        },
        models: models(given)?,
        legacy_base_url: given.read("legacy.base_url", base_url)?,
        voices: voices(given)?,
        whatsapp: whatsapp(given)?,
        integrations: integrations(given)?,
        seller: seller(&mut given.section("invoices"))?,
        embeddings: embeddings(&mut given.section("knowledge.embeddings"))?,
        telemetry: telemetry(&mut given.section("telemetry"))?,
        metrics_listen: given.read("metrics.listen", metrics_address)?,
        log_format: given
            .read("log.format", |raw| raw.one_of(&LOG_FORMATS))?
            .unwrap_or(LogFormat::Pretty),
    })
}

fn http(section: &mut Section<'_>) -> Result<HttpSettings> {
    Ok(HttpSettings {
        tls: tls(section)?,
        public_url: section.read("public_url", origin)?,
        behind_tls_proxy: section.is_on("behind_tls_proxy")?,
        trusted_proxies: section.read_or("trusted_proxies", Vec::new(), networks)?,
        cors_origins: section.read_or("cors_origins", Vec::new(), origins)?,
    })
}

fn tls(section: &mut Section<'_>) -> Result<Option<TlsSettings>> {
    let cert = section.read("tls_cert", path)?;
    let key = section.read("tls_key", path)?;
    let needs = |given, missing, what: &str| {
        let remedy = format!("name the file of {what}, or remove both");
        SettingsError::needs(given, missing, &remedy)
    };
    match (cert, key) {
        (Some(cert), Some(key)) => Ok(Some(TlsSettings { cert, key })),
        (Some(_), None) => Err(needs("http.tls_cert", "http.tls_key", "its private key")),
        (None, Some(_)) => Err(needs("http.tls_key", "http.tls_cert", "the certificate")),
        (None, None) => Ok(None),
    }
}

fn seller(section: &mut Section<'_>) -> Result<Option<Seller>> {
    let name = section.text("seller_name")?;
    let address = section.read("seller_address", Raw::list)?;
    let tax_id = section.text("seller_tax_id")?;
    let tax_name = section.text("tax_name")?;
    let tax_percent = section.read("tax_percent", |raw| raw.positive(MAX_PERCENT))?;
    let due_days = section.read("due_days", |raw| raw.integer(0, MAX_DUE_DAYS))?;
    let Some(name) = name else {
        let given = [
            ("seller_address", address.is_some()),
            ("seller_tax_id", tax_id.is_some()),
            ("tax_name", tax_name.is_some()),
            ("tax_percent", tax_percent.is_some()),
            ("due_days", due_days.is_some()),
        ];
        return match given.iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) => Err(SettingsError::needs(
                &section.key(key),
                &section.key("seller_name"),
                "name who makes out the invoices, or remove it",
            )),
            None => Ok(None),
        };
    };
    Ok(Some(Seller {
        name,
        address: address.unwrap_or_default(),
        tax_id,
        tax_name: tax_name.unwrap_or_else(|| "Tax".to_owned()),
        tax_percent,
        due_days: due_days.unwrap_or(DUE_DAYS),
    }))
}

fn limits(section: &mut Section<'_>) -> Result<LimitSettings> {
    Ok(LimitSettings {
        ip_per_minute: section.read_or("ip_per_minute", IP_PER_MINUTE, per_minute)?,
        call_ip_per_minute: section.read_or(
            "call_ip_per_minute",
            CALL_IP_PER_MINUTE,
            per_minute,
        )?,
        page_ip_per_minute: section.read_or(
            "page_ip_per_minute",
            PAGE_IP_PER_MINUTE,
            per_minute,
        )?,
        enabled: section.read_or("enabled", true, Raw::bool)?,
    })
}

fn webhooks(section: &mut Section<'_>) -> Result<WebhookSettings> {
    let offsets_by_default = offhook_dispatch::RETRY_OFFSETS;
    Ok(WebhookSettings {
        allow_private_targets: section.is_on("allow_private_targets")?,
        retry_offsets: section.read_or("retry_offsets", offsets_by_default, offsets)?,
        auto_disable: section.is_on("auto_disable")?,
    })
}

fn calls(section: &mut Section<'_>) -> Result<CallSettings> {
    let mut seconds = |name, min, default| {
        let seconds = section.read_or(name, default, |raw| raw.integer(min, DAY_SECONDS));
        seconds.map(|seconds| Duration::from_secs(seconds.into()))
    };
    Ok(CallSettings {
        max_queue: seconds("max_queue_seconds", 1, MAX_QUEUE_SECONDS)?,
        drain: seconds("drain_seconds", 0, DRAIN_SECONDS)?,
        allowed_prefixes: section.read_or("allowed_prefixes", Vec::new(), prefixes)?,
        page_share: section.read_or("page_share_percent", PAGE_SHARE_PERCENT, |raw| {
            raw.integer(1, 100)
        })?,
    })
}

fn plans(given: &mut Given) -> Result<Plans> {
    let mut plans = Plans::default();
    for plan in Plan::ALL {
        let mut section = given.section(format!("plans.{plan}"));
        read_terms(&mut section, plans.terms_mut(plan))?;
    }
    let priced = offhook_services::priced().map_err(|error| SettingsError(error.to_string()))?;
    for model in priced {
        if let Some(price) = given.read(&format!("prices.{model}"), Raw::price)? {
            plans.prices.insert(model, price);
        }
    }
    Ok(plans)
}

fn read_terms(section: &mut Section<'_>, terms: &mut PlanTerms) -> Result<()> {
    let rate = terms.requests_per_minute;
    terms.requests_per_minute = section.read_or("requests_per_minute", rate, per_minute)?;
    for (name, min, max, term) in [
        ("retention_days", 1, MAX_DAYS, &mut terms.retention_days),
        ("seats_max", 1, MAX_AMOUNT, &mut terms.seats_max),
        ("usd_per_month", 0, MAX_AMOUNT, &mut terms.usd_per_month),
        (
            "credits_per_month",
            0,
            MAX_AMOUNT,
            &mut terms.credits_per_month,
        ),
    ] {
        *term = section.read_or(name, *term, |raw| raw.integer_or_none(min, max))?;
    }
    terms.engine_module = section.read_or("engine_module", terms.engine_module, Raw::bool)?;
    let calls = |raw: Raw| raw.integer(0, MAX_LIVE_CALLS);
    terms.live_calls = section.read_or("live_calls", terms.live_calls, calls)?;
    Ok(())
}

fn models(given: &mut Given) -> Result<BTreeMap<String, ProviderSettings>> {
    let mut models = BTreeMap::new();
    for provider in given.names_in("models") {
        if BUILT_IN.contains(&provider.as_str()) {
            return Err(SettingsError(format!(
                "section `models.{provider}`: this provider is built in and takes no settings"
            )));
        }
        let mut section = given.section(format!("models.{provider}"));
        let base_url = section.read("base_url", base_url)?;
        let api_key = section.text("api_key")?;
        let own = (provider == "openai").then(|| OPENAI_BASE_URL.to_owned());
        let base_url = base_url.or(own);
        let base_url = base_url.ok_or_else(|| section.missing("base_url", NO_BASE_URL))?;
        models.insert(provider, ProviderSettings { base_url, api_key });
    }
    // Named so that an unknown setting can be told what was meant.
    let mut section = given.section("models.<provider>");
    section.text("base_url")?;
    section.text("api_key")?;
    Ok(models)
}

fn voices(given: &mut Given) -> Result<BTreeMap<VoiceProvider, VoiceLibrarySettings>> {
    let mut voices = BTreeMap::new();
    for provider in VoiceProvider::ALL.iter().copied() {
        let mut section = given.section(format!("voices.{provider}"));
        let base_url = section.read("base_url", base_url)?;
        let api_key = section.text("api_key")?;
        let why = "a voice provider needs `base_url` and `api_key`";
        match (base_url, api_key) {
            (None, None) => {}
            (Some(base_url), Some(api_key)) => {
                voices.insert(provider, VoiceLibrarySettings { base_url, api_key });
            }
            (None, _) => return Err(section.missing("base_url", why)),
            (_, None) => return Err(section.missing("api_key", why)),
        }
    }
    Ok(voices)
}

fn embeddings(section: &mut Section<'_>) -> Result<Option<EmbeddingsSettings>> {
    let base_url = section.read("base_url", base_url)?;
    let model = section.text("model")?;
    let api_key = section.text("api_key")?;
    let dimensions = section.read("dimensions", |raw| raw.integer(1, MAX_DIMENSIONS))?;
    let why = "embeddings need `base_url` and `model`";
    match (base_url, model) {
        (Some(base_url), Some(model)) => Ok(Some(EmbeddingsSettings {
            base_url,
            model,
            api_key,
            dimensions,
        })),
        (None, None) if api_key.is_none() && dimensions.is_none() => Ok(None),
        (None, _) => Err(section.missing("base_url", why)),
        (_, None) => Err(section.missing("model", why)),
    }
}

fn telemetry(section: &mut Section<'_>) -> Result<Option<TelemetrySettings>> {
    let endpoint = section.read("otlp_endpoint", base_url)?;
    let sample = section.read("sample", |raw| raw.positive(1.0))?;
    match (endpoint, sample) {
        (Some(otlp_endpoint), sample) => Ok(Some(TelemetrySettings {
            otlp_endpoint,
            sample: sample.unwrap_or(1.0),
        })),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(SettingsError::needs(
            "telemetry.sample",
            "telemetry.otlp_endpoint",
            "name the collector, or remove it",
        )),
    }
}
