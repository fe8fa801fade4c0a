//! The text of a URL that an account wrote.

use std::fmt;

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

/// What is wrong with the text of a URL, as a sentence that continues the field's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TargetUrlError {
    /// Longer than [`MAX_URL_CHARACTERS`].
    #[error("must be at most {MAX_URL_CHARACTERS} characters long: shorten the URL")]
    TooLong,
    /// White space or a control character, which URL parsers drop silently, or a backslash, which some treat as a
    /// slash.
    #[error("must not contain spaces, backslashes or control characters: percent-encode them")]
    BadCharacter,
    /// Not an absolute URL.
    #[error("must be a whole URL, such as https://example.com/events")]
    Malformed,
    /// Another scheme than https.
    #[error("must begin with https://")]
    Scheme,
    /// A user name or a password.
    #[error("must not contain a user name or password: remove the part before the @")]
    Credentials,
    #[error("must not have a fragment: remove the # and what follows it")]
    Fragment,
    /// An IP address, in any notation.
    #[error(
        "must name a host, not an IP address: use a domain name that resolves to a public address"
    )]
    AddressLiteral,
    /// A name that is only known inside a network.
    #[error(
        "must name a public host, such as example.com: this name is only known inside a network"
    )]
    LocalName,
    /// Not a valid domain name.
    #[error(
        "must have a valid host name: labels of letters, digits and hyphens, with a dot between them and none at the end"
    )]
    HostName,
    /// A port below 1024 other than 443.
    #[error("must use port 443 or a port from 1024 to 65535")]
    Port,
}

impl TargetUrl {
    /// Parses and checks `text`. Returns the first rule that it breaks.
    pub fn parse(text: &str, policy: Policy) -> Result<Self, TargetUrlError> {
        if text.chars().count() > MAX_URL_CHARACTERS {
            return Err(TargetUrlError::TooLong);
        }
        let bad = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
        if text.chars().any(bad) {
            return Err(TargetUrlError::BadCharacter);
        }
        let target = Self(Url::parse(text).map_err(|error| match error {
            url::ParseError::InvalidIpv4Address | url::ParseError::InvalidIpv6Address => {
                TargetUrlError::AddressLiteral
            }
            url::ParseError::IdnaError | url::ParseError::InvalidDomainCharacter => {
                TargetUrlError::HostName
            }
            _ => TargetUrlError::Malformed,
        })?);
        target.check(policy)?;
        Ok(target)
    }

    /// Checks the parsed form, in which every notation of an address (`0x7f.1`, `127.1`, `2130706433`) is the same.
    pub(crate) fn check(&self, policy: Policy) -> Result<(), TargetUrlError> {
        let url = &self.0;
        if url.as_str().len() > MAX_URL_CHARACTERS {
            return Err(TargetUrlError::TooLong);
        }
        if url.scheme() != "https" && !(policy.allow_private && url.scheme() == "http") {
            return Err(TargetUrlError::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetUrlError::Credentials);
        }
        if url.fragment().is_some() {
            return Err(TargetUrlError::Fragment);
        }
        match url.host() {
            Some(Host::Domain(name)) => check_name(name, policy)?,
            Some(Host::Ipv4(_) | Host::Ipv6(_)) if policy.allow_private => {}
            Some(Host::Ipv4(_) | Host::Ipv6(_)) => return Err(TargetUrlError::AddressLiteral),
            None => return Err(TargetUrlError::Malformed),
        }
        if !policy.allow_private && url.port().is_some_and(|port| port < LOWEST_PORT) {
            return Err(TargetUrlError::Port);
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

fn check_name(name: &str, policy: Policy) -> Result<(), TargetUrlError> {
    if name.len() > MAX_HOST_CHARACTERS || !name.split('.').all(is_label) {
        return Err(TargetUrlError::HostName);
    }
    let local = !name.contains('.') || LOCAL_SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
    if local && !policy.allow_private {
        return Err(TargetUrlError::LocalName);
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
