//! TLS below the client library: rustls, and channel binding of the password to the server's certificate.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::{BoxFuture, FutureExt as _, TryFutureExt as _};
use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

#[derive(Clone)]
pub(super) struct Tls(TlsConnector);

impl Tls {
    pub(super) fn new(config: ClientConfig) -> Self {
        Self(TlsConnector::from(Arc::new(config)))
    }
}

impl<S> MakeTlsConnect<S> for Tls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type TlsConnect = ToHost;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<ToHost> {
        Ok(ToHost {
            connector: self.0.clone(),
            host: host.to_owned(),
        })
    }
}

/// One connection to be encrypted.
pub(super) struct ToHost {
    connector: TlsConnector,
    host: String,
}

impl<S> TlsConnect<S> for ToHost
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Encrypted<S>>>;

    fn connect(self, stream: S) -> Self::Future {
        async move {
            let name = ServerName::try_from(self.host)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
            let connecting = self.connector.connect(name, stream);
            connecting.map_ok(Encrypted).await
        }
        .boxed()
    }
}

pub(super) struct Encrypted<S>(TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        let certificates = self.0.get_ref().1.peer_certificates();
        let bound = certificates.and_then(|all| {
            let certificate = all.first()?;
            Some(digest(binding_digest(certificate)?, certificate))
        });
        bound.map_or_else(ChannelBinding::none, |bound| {
            ChannelBinding::tls_server_end_point(bound.as_ref().to_vec())
        })
    }
}

/// The digest of a certificate's own signature, and SHA-256 for a weaker one (RFC 5929, 4.1). Signatures without a
/// digest, such as Ed25519's, bind nothing.
fn binding_digest(certificate: &[u8]) -> Option<&'static Algorithm> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
    // Certificate { what is signed, AlgorithmIdentifier { OID, … }, … }
    let (inside, _) = value(certificate)?;
    let (_, behind) = value(inside)?;
    let (algorithm, _) = value(behind)?;
    let (last, name) = value(algorithm)?.0.split_last()?;
    match (name, last) {
        (RSA, 5 | 11) | (ECDSA, 2) => Some(&SHA256),
        (RSA, 12) | (ECDSA, 3) => Some(&SHA384),
        (RSA, 13) | (ECDSA, 4) => Some(&SHA512),
        _ => None,
    }
}

/// The content of the first DER element, and what follows it.
fn value(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = der.get(1..)?.split_first()?;
    let (length, rest) = match usize::from(*length) {
        short @ 0..0x80 => (short, rest),
        long => {
            let (bytes, rest) = rest.split_at_checked(long & 0x7f)?;
            let bytes = bytes.iter().map(|byte| usize::from(*byte));
            (bytes.fold(0, |length, byte| length << 8 | byte), rest)
        }
    };
    rest.split_at_checked(length)
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, SignatureAlgorithm};

    use super::*;

    fn of(algorithm: &'static SignatureAlgorithm) -> Option<&'static Algorithm> {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let params = CertificateParams::new(["db.internal".to_owned()]).unwrap();
        binding_digest(params.self_signed(&key).unwrap().der())
    }

    #[test]
    fn a_certificate_binds_by_the_digest_of_its_signature() {
        assert_eq!(of(&rcgen::PKCS_ECDSA_P256_SHA256), Some(&SHA256));
        assert_eq!(of(&rcgen::PKCS_ECDSA_P384_SHA384), Some(&SHA384));
        assert_eq!(of(&rcgen::PKCS_ED25519), None);
        let rsa = |last| {
            let name = [0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, last];
            let algorithm = [&[0x30, 11][..], &name].concat();
            let signed = [&[0x30, 0x82, 1, 0][..], &[0; 256]].concat();
            let length = u16::try_from(algorithm.len() + signed.len()).unwrap();
            let head = [&[0x30, 0x82][..], &length.to_be_bytes()].concat();
            binding_digest(&[head, signed, algorithm].concat())
        };
        assert_eq!(rsa(5), Some(&SHA256), "SHA-1");
        assert_eq!(rsa(12), Some(&SHA384));
        assert_eq!(rsa(10), None, "by parameters");
        for broken in [
            &[][..],
            &[0x30],
            &[0x30, 0x84, 0xff],
            &[0x30, 3, 0x30, 9, 1],
        ] {
            assert_eq!(binding_digest(broken), None);
        }
    }
}
