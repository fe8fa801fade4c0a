//! The operator's settings of a trunk.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use rsipstack::dialog::authenticate::Credential;
use rsipstack::sip;

use crate::settings::Transport;

/// A trunk in a configuration file; [`check`](Self::check) turns it into a [`Trunk`].
#[derive(Clone, Default)]
pub struct TrunkSettings {
    /// The trunk's name: lower-case letters, digits, `-` and `_`, at most 40 characters.
    pub name: String,
    /// The carrier's server: `sip.example.com`, `192.0.2.1:5070`, or `sip:sip.example.com;transport=tcp`.
    pub server: String,
    /// `udp` (the default), `tcp` or `tls`.
    pub transport: Option<String>,
    /// The user name for the carrier's challenges (401 or 407).
    pub user: Option<String>,
    /// The password for `user`.
    pub password: Option<String>,
    /// The domain of our own address, if it differs from the server's.
    pub from_domain: Option<String>,
    /// The header with the caller ID: `from` (the default), `p-asserted-identity` or `remote-party-id`; the latter two
    /// are sent in addition to `From`.
    pub caller_id_header: Option<String>,
    /// Addresses and networks that calls may come from, besides the server's own.
    pub allowed_sources: Vec<String>,
    /// Whether calls may also come from anywhere, with digest authentication by `user` and `password`.
    pub accept_digest: bool,
    /// The seconds between two keep-alives; 0 disables them.
    pub keep_alive_seconds: u64,
}

/// Hides the password.
impl fmt::Debug for TrunkSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TrunkSettings({:?}, {:?})", self.name, self.server)
    }
}

/// An invalid setting of a trunk, and how to correct it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {fault}")]
pub struct SettingsError {
    /// The name of the setting.
    pub field: &'static str,
    /// What is wrong with it.
    pub fault: String,
}

fn fault<T>(field: &'static str, fault: impl Into<String>) -> Result<T, SettingsError> {
    Err(SettingsError {
        field,
        fault: fault.into(),
    })
}

/// The header with the caller ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallerId {
    From,
    PAssertedIdentity,
    RemotePartyId,
}

/// A trunk with validated settings.
#[derive(Clone)]
pub struct Trunk {
    pub(crate) name: String,
    pub(crate) host: sip::Host,
    pub(crate) port: Option<u16>,
    pub(crate) transport: Transport,
    /// Our credentials at the carrier.
    pub(crate) credential: Option<Credential>,
    pub(crate) from_domain: sip::HostWithPort,
    pub(crate) caller_id: CallerId,
    pub(crate) sources: Vec<IpNet>,
    pub(crate) accept_digest: bool,
    pub(crate) keep_alive: Option<Duration>,
}

/// Hides the password.
impl fmt::Debug for Trunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trunk({})", self.name)
    }
}

impl Trunk {
    /// Returns the trunk's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the transport to its carrier.
    #[must_use]
    pub const fn transport(&self) -> Transport {
        self.transport
    }

    /// Returns the host name or address of the carrier's server, and its port.
    #[must_use]
    pub fn place(&self) -> (String, u16) {
        let host = match &self.host {
            sip::Host::IpAddr(address) => address.to_string(),
            sip::Host::Domain(name) => name.0.clone(),
        };
        (host, self.port())
    }

    /// The port of the carrier's server.
    pub(crate) fn port(&self) -> u16 {
        self.port.unwrap_or(self.transport.default_port())
    }

    /// The carrier's server as a URI authority.
    pub(crate) fn authority(&self) -> sip::HostWithPort {
        sip::HostWithPort {
            host: self.host.clone(),
            port: self.port.map(Into::into),
        }
    }
}

impl TrunkSettings {
    /// Validates the settings. Returns [`SettingsError`] for the first invalid one.
    pub fn check(self) -> Result<Trunk, SettingsError> {
        let in_name = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
        if self.name.is_empty() || self.name.len() > 40 || !self.name.bytes().all(in_name) {
            return fault(
                "name",
                "must be 1 to 40 lower-case letters, digits, `-` and `_`",
            );
        }
        let (server, said) = parse_server(&self.server)?;
        let transport = match &self.transport {
            None => said.unwrap_or(Transport::Udp),
            Some(name) => match Transport::named(name) {
                None => return fault("transport", "must be `udp`, `tcp` or `tls`"),
                Some(transport) if said.is_some_and(|said| said != transport) => {
                    return fault("transport", "`server` names another one: write it once");
                }
                Some(transport) => transport,
            },
        };
        let credential = check_credential(self.user, self.password)?;
        let from_domain = match self.from_domain {
            None => sip::HostWithPort {
                host: server.host.clone(),
                port: None,
            },
            Some(domain) => match parse_host(&domain) {
                Some(domain) if domain.port.is_none() => domain,
                _ => return fault("from_domain", "must be a host name such as example.com"),
            },
        };
        let caller_id = match self.caller_id_header.as_deref() {
            None | Some("from") => CallerId::From,
            Some("p-asserted-identity") => CallerId::PAssertedIdentity,
            Some("remote-party-id") => CallerId::RemotePartyId,
            Some(_) => {
                return fault(
                    "caller_id_header",
                    "must be `from`, `p-asserted-identity` or `remote-party-id`",
                );
            }
        };
        let sources = self
            .allowed_sources
            .iter()
            .map(|source| parse_source(source))
            .collect::<Result<_, _>>()?;
        if self.accept_digest && credential.is_none() {
            return fault("accept_digest", "needs `user` and `password`");
        }
        let keep_alive = match self.keep_alive_seconds {
            0 => None,
            seconds @ 5..=3600 => Some(Duration::from_secs(seconds)),
            _ => return fault("keep_alive_seconds", "must be 0 (never) or 5 to 3600"),
        };
        Ok(Trunk {
            name: self.name,
            host: server.host,
            port: server.port.map(|port| port.0),
            transport,
            credential,
            from_domain,
            caller_id,
            sources,
            accept_digest: self.accept_digest,
            keep_alive,
        })
    }
}

/// Parses a server, and the transport in its URI.
fn parse_server(text: &str) -> Result<(sip::HostWithPort, Option<Transport>), SettingsError> {
    let form =
        "must be a host with or without port, such as sip.example.com, 192.0.2.1:5070 or [::1]";
    let (rest, secure) = match text.split_once(':') {
        Some(("sip", rest)) => (rest, false),
        Some(("sips", rest)) => (rest, true),
        _ => (text, false),
    };
    let (authority, parameters) = rest.split_once(';').unwrap_or((rest, ""));
    let mut transport = secure.then_some(Transport::Tls);
    for parameter in parameters.split(';').filter(|text| !text.is_empty()) {
        let named = parameter
            .split_once('=')
            .filter(|(name, _)| *name == "transport")
            .and_then(|(_, value)| Transport::named(value));
        match named {
            Some(named) if transport.is_none_or(|said| said == named) => transport = Some(named),
            _ => {
                return fault(
                    "server",
                    "no parameter but `transport=udp`, `tcp` or `tls` is known",
                );
            }
        }
    }
    match parse_host(authority) {
        Some(host) => Ok((host, transport)),
        None => fault("server", form),
    }
}

/// Parses a host name or address with an optional port.
fn parse_host(text: &str) -> Option<sip::HostWithPort> {
    // An IPv6 address without brackets would lose its last group to the port.
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address.into());
    }
    let host = sip::HostWithPort::try_from(text).ok()?;
    let sound = match &host.host {
        sip::Host::IpAddr(_) => true,
        sip::Host::Domain(name) => {
            name.0.len() <= 253
                && name.0.split('.').all(|label| {
                    (1..=63).contains(&label.len())
                        && !label.starts_with('-')
                        && label
                            .bytes()
                            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                })
        }
    };
    (sound && host.port.is_none_or(|port| port.0 != 0)).then_some(host)
}

fn check_credential(
    user: Option<String>,
    password: Option<String>,
) -> Result<Option<Credential>, SettingsError> {
    // Both are quoted in a header, or hashed: no value may end the header.
    let sound = |text: &str| {
        (1..=128).contains(&text.len())
            && text
                .chars()
                .all(|c| !c.is_control() && !matches!(c, '"' | '\\'))
    };
    match (user, password) {
        (None, None) => Ok(None),
        (Some(_), None) => fault("password", "is missing: `user` goes with one"),
        (None, Some(_)) => fault("user", "is missing: `password` goes with one"),
        (Some(user), Some(password)) => {
            let form = "must be 1 to 128 characters without quotation marks and backslashes";
            for (field, text) in [("user", &user), ("password", &password)] {
                if !sound(text) {
                    return fault(field, form);
                }
            }
            Ok(Some(Credential {
                username: user,
                password,
                ..Credential::default()
            }))
        }
    }
}

fn parse_source(text: &str) -> Result<IpNet, SettingsError> {
    let net = match text.parse::<IpAddr>() {
        Ok(address) => IpNet::from(address),
        Err(_) => match text.parse::<IpNet>() {
            Ok(net) => net,
            Err(_) => {
                return fault(
                    "allowed_sources",
                    "must be addresses such as 192.0.2.1 or networks such as 192.0.2.0/24",
                );
            }
        },
    };
    if net.prefix_len() == 0 {
        return fault(
            "allowed_sources",
            "a network of everybody is none: name the carrier's, or set `accept_digest`",
        );
    }
    Ok(net)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> TrunkSettings {
        TrunkSettings {
            name: "carrier".to_owned(),
            server: "sip.example.com".to_owned(),
            ..TrunkSettings::default()
        }
    }

    #[test]
    fn a_server_is_a_host_with_what_is_said_of_it() {
        for (server, host, port, transport) in [
            ("sip.example.com", "sip.example.com", 5060, Transport::Udp),
            ("192.0.2.1:5070", "192.0.2.1", 5070, Transport::Udp),
            ("[2001:db8::1]:5070", "[2001:db8::1]", 5070, Transport::Udp),
            ("2001:db8::1", "[2001:db8::1]", 5060, Transport::Udp),
            (
                "sip:a.example;transport=tcp",
                "a.example",
                5060,
                Transport::Tcp,
            ),
            ("sips:a.example", "a.example", 5061, Transport::Tls),
        ] {
            let trunk = TrunkSettings {
                server: server.to_owned(),
                ..settings()
            }
            .check()
            .expect(server);
            let read = (trunk.host.to_string(), trunk.port(), trunk.transport);
            assert_eq!(read, (host.to_owned(), port, transport), "{server}");
        }
    }

    #[test]
    fn a_setting_that_cannot_be_used_is_named() {
        type Change = fn(&mut TrunkSettings);
        let cases: [(&str, Change); 16] = [
            ("name", |s| s.name = "Big".to_owned()),
            ("name", |s| s.name.clear()),
            ("server", |s| s.server.clear()),
            ("server", |s| s.server = "a b".to_owned()),
            ("server", |s| s.server = "a.example:0".to_owned()),
            ("server", |s| s.server = "a.example;lr".to_owned()),
            ("server", |s| {
                s.server = "sips:a.example;transport=udp".to_owned()
            }),
            ("transport", |s| s.transport = Some("sctp".to_owned())),
            ("transport", |s| {
                s.server = "sip:a.example;transport=tcp".to_owned();
                s.transport = Some("tls".to_owned());
            }),
            ("password", |s| s.user = Some("u".to_owned())),
            ("user", |s| {
                s.user = Some("a\"\r\nX: y".to_owned());
                s.password = Some("p".to_owned());
            }),
            ("from_domain", |s| {
                s.from_domain = Some("a.example:5".to_owned())
            }),
            ("caller_id_header", |s| {
                s.caller_id_header = Some("x".to_owned())
            }),
            ("allowed_sources", |s| {
                s.allowed_sources = vec!["0.0.0.0/0".to_owned()]
            }),
            ("accept_digest", |s| s.accept_digest = true),
            ("keep_alive_seconds", |s| s.keep_alive_seconds = 4),
        ];
        for (field, change) in cases {
            let mut broken = settings();
            change(&mut broken);
            let error = broken.clone().check().expect_err(field);
            assert_eq!(error.field, field, "{broken:?}");
            assert!(error.to_string().starts_with(&format!("`{field}`: ")));
        }
    }

    #[test]
    fn passwords_are_not_printed() {
        let trunk = TrunkSettings {
            user: Some("user".to_owned()),
            password: Some("hunter2".to_owned()),
            ..settings()
        };
        assert!(!format!("{trunk:?}").contains("hunter2"));
        assert!(!format!("{:?}", trunk.check()).contains("hunter2"));
    }
}
