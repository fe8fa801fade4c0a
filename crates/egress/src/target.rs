//! The text of a URL that an account wrote.

use std::fmt;

use offhook_domain::json::UrlFault;
use url::{Host, Url};

/// The longest URL, in characters.
pub const MAX_URL_CHARACTERS: usize = 2048;

/// The lowest port besides the scheme's own: lower ones belong to mail, shells and other services that are no web
/// server.
const LOWEST_PORT: u16 = 1024;

/// The longest host name, in characters, and the longest label of it (RFC 1035).
const MAX_HOST_CHARACTERS: usize = 253;
const MAX_LABEL_CHARACTERS: usize = 63;

/// Suffixes of names that never resolve publicly, besides names without a dot.
const LOCAL_SUFFIXES: [&str; 3] = [".localhost", ".local", ".internal"];

/// How strict the guard is. The default rejects everything that is not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// Allows `http://`, IP literals, any port and any address. It only serves `webhooks.allow_private_targets`, which
    /// requires a loopback `--listen`.
    pub allow_private: bool,
}

/// A URL whose text passed the checks for targets. The addresses of its name are checked at each connect.
///
/// `Debug` shows only the origin, because webhook paths often contain a token.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TargetUrl(Url);

impl TargetUrl {
    /// Parses and checks `text`. Returns the first rule that it breaks.
    pub fn parse(text: &str, policy: Policy) -> Result<Self, UrlFault> {
        if text.chars().count() > MAX_URL_CHARACTERS {
            return Err(UrlFault::TooLong);
        }
        let bad = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
        if text.chars().any(bad) {
            return Err(UrlFault::BadCharacter);
        }
        let target = Self(Url::parse(text).map_err(|error| match error {
            url::ParseError::InvalidIpv4Address | url::ParseError::InvalidIpv6Address => {
                UrlFault::AddressLiteral
            }
            url::ParseError::IdnaError | url::ParseError::InvalidDomainCharacter => {
                UrlFault::HostName
            }
            _ => UrlFault::Malformed,
        })?);
        target.check(policy)?;
        Ok(target)
    }

    /// Checks the parsed form, in which every notation of an address (`0x7f.1`, `127.1`, `2130706433`) is the same.
    pub(crate) fn check(&self, policy: Policy) -> Result<(), UrlFault> {
        let url = &self.0;
        if url.as_str().len() > MAX_URL_CHARACTERS {
            return Err(UrlFault::TooLong);
        }
        if url.scheme() != "https" && !(policy.allow_private && url.scheme() == "http") {
            return Err(UrlFault::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlFault::Credentials);
        }
        if url.fragment().is_some() {
            return Err(UrlFault::Fragment);
        }
        match url.host() {
            Some(Host::Domain(name)) => check_name(name, policy)?,
            Some(Host::Ipv4(_) | Host::Ipv6(_)) if policy.allow_private => {}
            Some(Host::Ipv4(_) | Host::Ipv6(_)) => return Err(UrlFault::AddressLiteral),
            None => return Err(UrlFault::Malformed),
        }
        if !policy.allow_private && url.port().is_some_and(|port| port < LOWEST_PORT) {
            return Err(UrlFault::Port);
        }
        Ok(())
    }

    /// The normalized URL: lower-case host, `/` for an empty path.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub fn as_url(&self) -> &Url {
        &self.0
    }

    /// Scheme, host and port, such as `https://example.com`: what a stored credential belongs to.
    pub fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }
}

impl fmt::Display for TargetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for TargetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TargetUrl({}/…)", self.origin())
    }
}

fn check_name(name: &str, policy: Policy) -> Result<(), UrlFault> {
    if name.len() > MAX_HOST_CHARACTERS || !name.split('.').all(is_label) {
        return Err(UrlFault::HostName);
    }
    let local = !name.contains('.') || LOCAL_SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
    if local && !policy.allow_private {
        return Err(UrlFault::LocalName);
    }
    Ok(())
}

/// Underscores are not valid in host names, but receivers use them and resolvers accept them.
fn is_label(label: &str) -> bool {
    !label.is_empty()
        && label.len() <= MAX_LABEL_CHARACTERS
        && label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}
