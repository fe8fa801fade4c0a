//! The settings: a TOML file, the environment, the flags, each winning over the one before.
//!
//! A setting that is unknown, wrong or without effect stops the start with a sentence that names it. No value is
//! ever part of such a sentence: it may be a secret.

mod given;
mod integrations;
mod objects;
mod read;
mod sip;
mod speech;
mod twilio;
mod values;
mod whatsapp;

#[cfg(test)]
mod deployed;
#[cfg(test)]
pub(crate) mod tests;

use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;

use ipnet::IpNet;
use offhook_providers::{
    ApplicationSettings, EmbeddingsSettings, ProviderSettings, SpeechProvider,
    VoiceLibrarySettings, WhatsAppSettings,
};
use offhook_services::Seller;
use offhook_twilio::TwilioSettings;

use crate::prelude::*;

pub(crate) use objects::ObjectsSettings;
pub(crate) use sip::{RtpSettings, SipListener, SipSettings};

/// The name of the embedded database in the data directory.
const DATABASE_FILE: &str = "offhook.db";

/// A setting is unknown, wrong or without effect; the sentence says which, why, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SettingsError(pub(crate) String);

pub(crate) type Result<T, E = SettingsError> = std::result::Result<T, E>;

impl SettingsError {
    fn missing(key: &str, why: &str) -> Self {
        Self(format!("setting `{key}` is missing: {why}"))
    }

    /// That a setting has no effect without another one.
    fn needs(key: &str, other: &str, remedy: &str) -> Self {
        Self(format!("setting `{key}` needs `{other}`: {remedy}"))
    }
}

/// What the flags of a command say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    /// `--config`.
    pub(crate) config: Option<PathBuf>,
    /// `--data-dir`.
    pub(crate) data_dir: Option<String>,
    /// `--database-url`.
    pub(crate) database_url: Option<Secret>,
    /// `--redis-url`.
    pub(crate) redis_url: Option<Secret>,
    /// `--listen`.
    pub(crate) listen: Option<String>,
}

/// Everything that can be set.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// `listen`: where the interface is served.
    pub(crate) listen: SocketAddr,
    /// `data_dir`: the embedded database, the master key, the lock and the address bound.
    pub(crate) data_dir: PathBuf,
    /// `database_url`: a PostgreSQL database in place of the embedded one.
    pub(crate) database_url: Option<Secret>,
    /// `database_direct_url`: the server itself, if `database_url` leads through a pooler.
    pub(crate) database_direct_url: Option<Secret>,
    /// `redis_url`: the Redis in which several processes count requests together.
    pub(crate) redis_url: Option<Secret>,
    /// `master_key_file`: the key that seals secrets, as 64 hexadecimal digits.
    pub(crate) master_key_file: Option<PathBuf>,
    /// `storage`: where files are kept.
    pub(crate) objects: ObjectsSettings,
    /// `http`.
    pub(crate) http: HttpSettings,
    /// `limits`.
    pub(crate) limits: LimitSettings,
    /// `plans`: the terms of each plan.
    pub(crate) plans: Plans,
    /// `webhooks`.
    pub(crate) webhooks: WebhookSettings,
    /// `calls`.
    pub(crate) calls: CallSettings,
    /// `sip`, if calls go by a trunk: `calls.carrier` is `sip`.
    pub(crate) sip: Option<SipSettings>,
    /// `twilio`, if calls go over it: `calls.carrier` is `twilio`.
    pub(crate) twilio: Option<TwilioSettings>,
    /// `speech`: recognizers and voices, by the name that agents use.
    pub(crate) speech: BTreeMap<String, SpeechProvider>,
    /// `speech.<provider>.voices`: the voices of the deployment's own servers and programs.
    pub(crate) speech_voices: BTreeMap<String, Vec<String>>,
    /// `simulator`.
    pub(crate) simulator: SimulatorSettings,
    /// `models`: services that speak OpenAI's chat completions, by the name that agents use.
    pub(crate) models: BTreeMap<String, ProviderSettings>,
    /// `legacy.base_url`: where the provider of the legacy agents is; `None`: in this process, simulated.
    pub(crate) legacy_base_url: Option<String>,
    /// `voices`: the voice providers whose lists are asked for.
    pub(crate) voices: BTreeMap<VoiceProvider, VoiceLibrarySettings>,
    /// `whatsapp`, if anything of it is set: where the Cloud API is.
    pub(crate) whatsapp: Option<WhatsAppSettings>,
    /// `integrations`: the applications that accounts can connect, by their toolkit.
    pub(crate) integrations: BTreeMap<&'static str, ApplicationSettings>,
    /// `invoices`: who makes them out, if that is named.
    pub(crate) seller: Option<Seller>,
    /// `knowledge.embeddings`: by what documents are also found by their meaning.
    pub(crate) embeddings: Option<EmbeddingsSettings>,
    /// `metrics.listen`: where the figures of the process are served; `None`: nowhere.
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// `telemetry`: where spans are sent; `None`: nowhere.
    pub(crate) telemetry: Option<TelemetrySettings>,
    /// `log.format`.
    pub(crate) log_format: LogFormat,
}

/// `http`.
#[derive(Debug, Clone)]
pub(crate) struct HttpSettings {
    /// The service's own address, as customers know it.
    pub(crate) public_url: Option<String>,
    /// A proxy in front ends TLS.
    pub(crate) behind_tls_proxy: bool,
    /// The certificate and key of an HTTPS listener.
    pub(crate) tls: Option<TlsSettings>,
    /// Networks of our own proxies.
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// Origins whose pages may call the interface.
    pub(crate) cors_origins: Vec<String>,
}

/// `http.tls_cert` and `http.tls_key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TlsSettings {
    /// A PEM file: the server's certificate, then those that lead to its root.
    pub(crate) cert: PathBuf,
    /// A PEM file: the certificate's private key.
    pub(crate) key: PathBuf,
}

/// `limits`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LimitSettings {
    /// Requests a minute of one address.
    pub(crate) ip_per_minute: u32,
    /// Calls placed a minute from one address.
    pub(crate) call_ip_per_minute: u32,
    /// `limits.page_ip_per_minute`.
    pub(crate) page_ip_per_minute: u32,
    /// `false` switches every limit off, to measure what they cost.
    pub(crate) enabled: bool,
}

/// `webhooks`.
#[derive(Debug, Clone)]
pub(crate) struct WebhookSettings {
    /// Lets endpoints be on private addresses; only with a loopback listener.
    pub(crate) allow_private_targets: bool,
    /// What is waited after the first, second and third failed attempt.
    pub(crate) retry_offsets: [Duration; 3],
    /// Whether endpoints that fail for too long are disabled.
    pub(crate) auto_disable: bool,
}

/// `calls`.
#[derive(Debug, Clone)]
pub(crate) struct CallSettings {
    /// Numbers must begin with one of these; none: every number may be called.
    pub(crate) allowed_prefixes: Vec<String>,
    /// How long an accepted call may wait to be dialed.
    pub(crate) max_queue: Duration,
    /// How long live calls go on once the service is told to stop.
    pub(crate) drain: Duration,
    /// What pages may take of an account's live calls, in percent.
    pub(crate) page_share: u32,
}

/// `simulator`.
#[derive(Debug, Clone)]
pub(crate) struct SimulatorSettings {
    /// How many times faster than real life its people are.
    pub(crate) speed: Option<f64>,
    /// A simulator that runs as its own process.
    pub(crate) url: Option<String>,
}

/// `telemetry`.
#[derive(Debug, Clone)]
pub(crate) struct TelemetrySettings {
    /// The collector's address, which `/v1/traces` follows.
    pub(crate) otlp_endpoint: String,
    /// The part of the traces that is sent, above 0 and at most 1.
    pub(crate) sample: f64,
}

/// `log.format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    Pretty,
    /// One JSON object a line.
    Json,
}

impl Settings {
    /// Reads the file, this process's environment and the flags.
    ///
    /// # Errors
    /// The first setting that is unknown or wrong.
    pub(crate) fn load(flags: Flags) -> Result<Self> {
        Self::from_parts(flags, std::env::vars_os())
    }

    /// The embedded database's file.
    pub(crate) fn database_file(&self) -> PathBuf {
        self.data_dir.join(DATABASE_FILE)
    }

    /// Whether the data is in PostgreSQL.
    pub(crate) fn is_shared(&self) -> bool {
        self.database_url.is_some()
    }

    /// Whether these settings can serve: what only matters with an open listener.
    pub(crate) fn check_serving(&self) -> Result<()> {
        let is_loopback = self.listen.ip().is_loopback();
        if self.webhooks.allow_private_targets && !is_loopback {
            return Err(SettingsError(format!(
                "setting `webhooks.allow_private_targets` needs a loopback listener, and `listen` is {}: remove it or \
                 listen on 127.0.0.1",
                self.listen
            )));
        }
        if !is_loopback && !self.http.behind_tls_proxy && self.http.tls.is_none() {
            return Err(SettingsError(format!(
                "`listen` is {}, where keys would travel in the clear: give a certificate (`http.tls_cert`, \
                 `http.tls_key`), let a proxy in front end TLS and set `http.behind_tls_proxy`, or listen on 127.0.0.1",
                self.listen
            )));
        }
        let carrier = match (&self.sip, &self.twilio) {
            (Some(_), _) => Some("sip"),
            (_, Some(_)) => Some("twilio"),
            (None, None) => None,
        };
        if let Some(carrier) = carrier
            && self.calls.allowed_prefixes.is_empty()
        {
            let why = format!(
                "with `calls.carrier` at `{carrier}` calls cost money, and whoever gets hold of a key could call \
                 anywhere; list the beginnings of the numbers that may be called, such as [\"+52\", \"+1\"]"
            );
            return Err(SettingsError::missing("calls.allowed_prefixes", &why));
        }
        Ok(())
    }

    pub(crate) fn from_parts(
        flags: Flags,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self> {
        let environment: Vec<_> = environment.into_iter().collect();
        let mut given = given::Given::default();
        let variable = environment
            .iter()
            .find(|(name, _)| name == given::CONFIG_VARIABLE)
            .map(|(_, path)| PathBuf::from(path));
        if let Some(path) = flags.config.or(variable) {
            given.file(&path)?;
        }
        given.environment(environment)?;
        given.flag("--listen", flags.listen);
        given.flag("--data-dir", flags.data_dir);
        given.flag("--database-url", flags.database_url.map(|url| url.0));
        given.flag("--redis-url", flags.redis_url.map(|url| url.0));
        let settings = read::settings(&mut given)?;
        given.finish()?;
        Ok(settings)
    }
}

/// A text that is shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// The text.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
