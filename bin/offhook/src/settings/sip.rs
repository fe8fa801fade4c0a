//! `sip` and `calls.trunk`: the deployment's own way into the phone network.

use std::net::{IpAddr, SocketAddr};

use offhook_media::ports::PortRange;
use offhook_sip::{Transport, TrunkSettings};

use super::given::{Given, Raw, Section};
use super::values::{parsed, path};
use super::{Result, SettingsError, TlsSettings};

/// The ports of calls' sound: of 500 calls.
const RTP_PORTS: (u16, u16) = (40_000, 40_999);

/// The seconds between two looks at whether a carrier answers.
const KEEP_ALIVE_SECONDS: u32 = 30;

/// The settings of a trunk, for an unknown one to be told what was meant.
const OF_A_TRUNK: [&str; 9] = [
    "server",
    "transport",
    "user",
    "password",
    "from_domain",
    "caller_id_header",
    "allowed_sources",
    "accept_digest",
    "keep_alive_seconds",
];

/// `sip`, where `calls.carrier` is `sip`.
#[derive(Debug, Clone)]
pub(crate) struct SipSettings {
    /// Where carriers reach us, datagrams first.
    pub(crate) listeners: Vec<SipListener>,
    /// What the TLS listener shows.
    pub(crate) tls: Option<TlsSettings>,
    /// Where calls' sound goes through.
    pub(crate) rtp: RtpSettings,
    /// The trunks, each of which was checked.
    pub(crate) trunks: Vec<TrunkSettings>,
    /// The one by which calls go out.
    pub(crate) trunk: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SipListener {
    pub(crate) transport: Transport,
    pub(crate) address: SocketAddr,
    /// The address that carriers see, if a router stands between.
    pub(crate) external: Option<SocketAddr>,
}

/// Where calls' sound goes through.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RtpSettings {
    /// The address that sockets are opened on.
    pub(crate) address: IpAddr,
    /// The address that carriers see, if a router stands between.
    pub(crate) external: Option<IpAddr>,
    pub(crate) ports: PortRange,
    /// Whether a call's sound may come from anywhere.
    pub(crate) from_anywhere: bool,
}

/// Each transport, as its setting in `sip` is called.
const TRANSPORTS: [(&str, Transport); 3] = [
    ("udp", Transport::Udp),
    ("tcp", Transport::Tcp),
    ("tls", Transport::Tls),
];

impl SipListener {
    /// What its setting is called in `sip`.
    pub(crate) fn name(self) -> &'static str {
        let named = TRANSPORTS.iter().find(|(_, one)| *one == self.transport);
        named.map_or("", |(name, _)| name)
    }
}

impl SipSettings {
    /// What is said of the trunk by which calls go out.
    pub(crate) fn outgoing(&self) -> Option<&TrunkSettings> {
        self.trunks.iter().find(|trunk| trunk.name == self.trunk)
    }
}

/// Reads everything of `sip`; `is_carrier` says whether it is of any effect.
pub(super) fn sip(given: &mut Given, is_carrier: bool) -> Result<Option<SipSettings>> {
    let is_given = !given.names_in("sip").is_empty();
    let trunk = given.read("calls.trunk", Raw::text)?;
    let mut section = given.section("sip");
    let mut listeners = Vec::new();
    for (name, transport) in TRANSPORTS {
        listeners.extend(listener(&mut section, name, transport)?);
    }
    let has_tls = is_listened(&listeners, Transport::Tls);
    let tls = certificate(&mut section, has_tls)?;
    let rtp = Rtp {
        address: section.read("rtp_address", ip_address)?,
        external: section.read("rtp_external", ip_address)?,
        ports: section.read("rtp_ports", ports)?,
        from_anywhere: section.is_on("rtp_from_anywhere")?,
    };
    let mut trunks = Vec::new();
    for name in given.names_in("sip.trunks") {
        trunks.push(trunk_settings(given, name)?);
    }
    for name in OF_A_TRUNK {
        given.read(&format!("sip.trunks.<name>.{name}"), Raw::text)?;
    }
    if !is_carrier {
        let unread = match (is_given, trunk.is_some()) {
            (false, false) => return Ok(None),
            (true, _) => "section `sip`",
            (false, true) => "setting `calls.trunk`",
        };
        return Err(SettingsError(format!(
            "{unread} is without effect, as `calls.carrier` is not `sip`: set that to `sip`, or remove this"
        )));
    }
    check_trunks(&listeners, &trunks)?;
    Ok(Some(SipSettings {
        trunk: chosen(trunk, &trunks)?,
        rtp: rtp.settings(&listeners)?,
        listeners,
        tls,
        trunks,
    }))
}

fn is_listened(listeners: &[SipListener], transport: Transport) -> bool {
    listeners.iter().any(|one| one.transport == transport)
}

fn listener(
    section: &mut Section<'_>,
    name: &str,
    transport: Transport,
) -> Result<Option<SipListener>> {
    let external_name = format!("{name}_external");
    let (key, external_key) = (section.key(name), section.key(&external_name));
    let must = "an IP address and a port, such as 192.0.2.10:5060";
    let address: Option<SocketAddr> = section.read(name, |raw| parsed(raw, must))?;
    let external = section.read(&external_name, external_address)?;
    let Some(address) = address else {
        let remedy = "give the address to listen on, or remove it";
        let needs = |_| SettingsError::needs(&external_key, &key, remedy);
        return external.map(needs).map_or(Ok(None), Err);
    };
    if address.ip().is_unspecified() && external.is_none() {
        let why = format!(
            "`{key}` is every address of this machine, and a carrier is told one; give the address that it reaches, or \
             listen on that one alone"
        );
        return Err(SettingsError::missing(&external_key, &why));
    }
    let external =
        external.map(|(ip, port)| SocketAddr::new(ip, port.unwrap_or_else(|| address.port())));
    Ok(Some(SipListener {
        transport,
        address,
        external,
    }))
}

fn certificate(section: &mut Section<'_>, has_tls: bool) -> Result<Option<TlsSettings>> {
    let cert = section.read("tls_cert", path)?;
    let key = section.read("tls_key", path)?;
    let needs = |given, missing, what: &str| {
        Err(SettingsError::needs(
            given,
            missing,
            &format!("name the file of {what}"),
        ))
    };
    match (has_tls, cert, key) {
        (true, Some(cert), Some(key)) => Ok(Some(TlsSettings { cert, key })),
        (false, None, None) => Ok(None),
        (true, None, _) => needs("sip.tls", "sip.tls_cert", "the listener's certificate"),
        (true, Some(_), None) => needs("sip.tls_cert", "sip.tls_key", "its private key"),
        (false, cert, _) => {
            let setting = if cert.is_some() { "cert" } else { "key" };
            Err(SettingsError(format!(
                "setting `sip.tls_{setting}` is without effect: it is the listener's of `sip.tls`; give that, or remove it"
            )))
        }
    }
}

/// What is said of calls' sound.
struct Rtp {
    address: Option<IpAddr>,
    external: Option<IpAddr>,
    ports: Option<PortRange>,
    from_anywhere: bool,
}

impl Rtp {
    /// Sound goes the way of the signalling, unless it is said otherwise.
    fn settings(self, listeners: &[SipListener]) -> Result<RtpSettings> {
        let first = listeners.first();
        let address = self.address.or(first.map(|first| first.address.ip()));
        let address = address.unwrap_or(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));
        let external = match (self.external, self.address) {
            (None, None) => first.and_then(|first| first.external).map(|it| it.ip()),
            (external, _) => external,
        };
        if address.is_unspecified() && external.is_none() {
            return Err(SettingsError::missing(
                "sip.rtp_external",
                "`sip.rtp_address` is every address of this machine, and a call's description names one; give the \
                 address that carriers reach",
            ));
        }
        let ports = match self.ports {
            Some(ports) => ports,
            None => PortRange::new(RTP_PORTS.0, RTP_PORTS.1)
                .map_err(|error| SettingsError(error.to_string()))?,
        };
        Ok(RtpSettings {
            address,
            external,
            ports,
            from_anywhere: self.from_anywhere,
        })
    }
}

fn trunk_settings(given: &mut Given, name: String) -> Result<TrunkSettings> {
    let mut section = given.section(format!("sip.trunks.{name}"));
    let server = section.text("server")?;
    let why = "give the carrier's server, such as sip.example.com";
    let settings = TrunkSettings {
        server: server.ok_or_else(|| section.missing("server", why))?,
        transport: section.text("transport")?,
        user: section.text("user")?,
        password: section.text("password")?,
        from_domain: section.text("from_domain")?,
        caller_id_header: section.text("caller_id_header")?,
        allowed_sources: section.read_or("allowed_sources", Vec::new(), Raw::list)?,
        accept_digest: section.is_on("accept_digest")?,
        keep_alive_seconds: section
            .read_or("keep_alive_seconds", KEEP_ALIVE_SECONDS, |raw| {
                raw.integer(0, 3_600)
            })?
            .into(),
        name: name.clone(),
    };
    if let Err(error) = settings.clone().check() {
        let (field, fault) = (error.field, error.fault);
        return Err(SettingsError(match field {
            "name" => format!("section `sip.trunks.{name}`: its name {fault}"),
            _ => format!("setting `{}`: {fault}", section.key(field)),
        }));
    }
    Ok(settings)
}

/// Each trunk speaks by a transport that is listened to.
fn check_trunks(listeners: &[SipListener], trunks: &[TrunkSettings]) -> Result<()> {
    if trunks.is_empty() {
        return Err(SettingsError(
            "section `sip.trunks` is missing: `calls.carrier` is `sip`, and calls go by a trunk; describe it as \
             `sip.trunks.<name>`, with its `server` at least"
                .to_owned(),
        ));
    }
    if listeners.is_empty() {
        return Err(SettingsError::missing(
            "sip.udp",
            "`calls.carrier` is `sip`, and the carrier has to reach this machine; give the address to listen on, such as \
             192.0.2.10:5060, or that of `sip.tcp` or `sip.tls`",
        ));
    }
    for trunk in trunks {
        // It was checked as it was read.
        let Ok(transport) = trunk.clone().check().map(|trunk| trunk.transport()) else {
            continue;
        };
        let missing = match transport {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
            // What is encrypted goes out by connections of our own.
            Transport::Tls => continue,
        };
        if !is_listened(listeners, transport) {
            let why = format!(
                "the trunk `{}` speaks by {}, and is answered there; give the address to listen on",
                trunk.name,
                missing.to_ascii_uppercase()
            );
            return Err(SettingsError::missing(&format!("sip.{missing}"), &why));
        }
    }
    Ok(())
}

/// The trunk by which calls go out.
fn chosen(named: Option<String>, trunks: &[TrunkSettings]) -> Result<String> {
    let names: Vec<&str> = trunks.iter().map(|trunk| trunk.name.as_str()).collect();
    let known = names.join("`, `");
    match (named, &names[..]) {
        (Some(named), names) if names.contains(&named.as_str()) => Ok(named),
        (Some(_), _) => Err(SettingsError(format!(
            "setting `calls.trunk` names no trunk of `sip.trunks`: it has `{known}`"
        ))),
        (None, [only]) => Ok((*only).to_owned()),
        (None, _) => Err(SettingsError::missing(
            "calls.trunk",
            &format!("there are the trunks `{known}`; name the one by which calls go out"),
        )),
    }
}

fn ip_address(raw: Raw) -> Result<IpAddr, String> {
    parsed(raw, "an IP address, such as 203.0.113.7")
}

/// An address, with a port where the router has another one.
fn external_address(raw: Raw) -> Result<(IpAddr, Option<u16>), String> {
    let text = raw.text()?;
    let whole = text.parse::<SocketAddr>();
    whole
        .map(|address| (address.ip(), Some(address.port())))
        .or_else(|_| text.parse::<IpAddr>().map(|ip| (ip, None)))
        .map_err(|_| {
            "must be an IP address, with a port perhaps, such as 203.0.113.7 or 203.0.113.7:5060"
                .to_owned()
        })
}

fn ports(raw: Raw) -> Result<PortRange, String> {
    let text = raw.text()?;
    let range = text.split_once('-').and_then(|(first, last)| {
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        PortRange::new(first, last).ok()
    });
    range.ok_or_else(|| "must be two ports above 1023, such as 40000-40999".to_owned())
}
