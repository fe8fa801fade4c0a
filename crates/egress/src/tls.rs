//! TLS of outgoing connections: rustls with ring.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// TLS settings for a client that speaks HTTP/1.1: TLS 1.2 and 1.3, certificates checked against the system's roots
/// (`SSL_CERT_FILE` and `SSL_CERT_DIR` count). On a system without any, as in a bare container, Mozilla's roots as of
/// the build take their place.
///
/// The provider is named here, so no process-wide default needs to be installed.
///
/// # Errors
///
/// When ring offers none of the protocol versions, which a sound build never sees.
pub fn client_config() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let mut config = match Verifier::new(provider) {
        Ok(verifier) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth(),
        Err(_) => {
            let roots = RootCertStore {
                roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
            };
            builder.with_root_certificates(roots).with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
