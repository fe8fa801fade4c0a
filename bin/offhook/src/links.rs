//! Addresses of the portal that are printed for people to open.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use offhook_services::Services;
use offhook_services::store::StoreError;

use crate::data_dir;
use crate::prelude::*;

/// Where people reach the service: the address that the operator gave it, else the one that it serves on.
pub(crate) fn origin(settings: &Settings) -> String {
    if let Some(url) = &settings.http.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let scheme = settings.http.tls.as_ref().map_or("http", |_| "https");
    let serving = data_dir::read_listen(&settings.data_dir);
    on_this_machine(scheme, serving.unwrap_or(settings.listen))
}

/// Where this machine itself reaches what listens at an address, which may be all of its addresses.
pub(crate) fn on_this_machine(scheme: &str, listening: SocketAddr) -> String {
    format!("{scheme}://{}", here(listening))
}

/// An address of this machine that a listener on `address` can be reached by.
pub(crate) fn here(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

/// Where somebody who is invited joins a team.
pub(crate) fn join(origin: &str, token: &str) -> String {
    format!("{origin}/portal/join/{token}")
}

/// Where the first account is made.
pub(crate) fn first(origin: &str) -> String {
    format!("{origin}/portal/first")
}

/// A one-time address where a member of the account sets a password and is signed in; `None` if the account has no such
/// member.
pub(crate) async fn sign_in(
    services: &Services,
    origin: &str,
    (account, email): (AccountId, &EmailAddress),
) -> Result<Option<String>, StoreError> {
    let link = services.people().link(account, email).await?;
    Ok(link.map(|link| format!("{origin}/portal/welcome/{}", link.token)))
}

/// As [`sign_in`], for somebody who was just made a member: `None` if they have a password already, which is good for
/// this account too.
pub(crate) async fn first_sign_in(
    services: &Services,
    origin: &str,
    (account, email): (AccountId, &EmailAddress),
) -> Result<Option<String>, StoreError> {
    if services.people().has_password(email).await? {
        return Ok(None);
    }
    sign_in(services, origin, (account, email)).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Flags;

    #[test]
    fn a_link_leads_to_the_public_address_or_else_to_where_the_service_listens() {
        let dir = tempfile::tempdir().unwrap();
        let origin_with = |public: Option<&str>| {
            let public = public.map(|url| ("OFFHOOK_HTTP__PUBLIC_URL".into(), url.into()));
            let flags = Flags {
                data_dir: Some(dir.path().to_str().unwrap().to_owned()),
                listen: Some("127.0.0.1:9000".to_owned()),
                ..Flags::default()
            };
            origin(&Settings::from_parts(flags, public).unwrap())
        };
        assert_eq!(origin_with(None), "http://127.0.0.1:9000");
        let serving = "127.0.0.1:4711".parse().unwrap();
        data_dir::write_address(dir.path(), data_dir::LISTEN, serving).unwrap();
        assert_eq!(origin_with(None), "http://127.0.0.1:4711");
        let all = on_this_machine("https", "0.0.0.0:8443".parse().unwrap());
        assert_eq!(all, "https://127.0.0.1:8443");
        let all = on_this_machine("http", "[::]:8080".parse().unwrap());
        assert_eq!(all, "http://[::1]:8080");
        let public = "https://voice.example.com";
        assert_eq!(origin_with(Some(public)), public);
    }
}
