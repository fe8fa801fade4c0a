//! The identity providers of accounts: OpenID Connect with an authorization code and PKCE. Every request goes through
//! the egress guard, with limits on time and bytes.

use std::io;

use chrono::DateTime;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use offhook_egress::{Failure, GuardedClient, Policy, TargetUrl};
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreJwsSigningAlgorithm as Algorithm, CoreProviderMetadata,
    CoreUserInfoClaims,
};
use openidconnect::{
    AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken, HttpRequest,
    HttpResponse, IssuerUrl, Nonce, OAuth2TokenResponse as _, PkceCodeChallenge, PkceCodeVerifier,
    RedirectUrl, Scope, TokenResponse as _, http,
};
use parking_lot::Mutex;
use tokio::time::timeout;

use crate::prelude::*;

/// How long a request to a provider may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of a response that are read.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// How long a provider's configuration and keys are kept.
const KEPT_FOR: Duration = Duration::from_secs(10 * 60);

/// How old kept keys are at least when a signature that they do not verify makes them be read again.
const KEYS_REST: Duration = Duration::from_secs(30);

/// How many configurations are kept.
const KEPT_AT_MOST: usize = 200;

/// Signatures that are accepted: none by a secret that both sides know, and none without a signature.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RsaSsaPkcs1V15Sha256,
    Algorithm::RsaSsaPkcs1V15Sha384,
    Algorithm::RsaSsaPkcs1V15Sha512,
    Algorithm::RsaSsaPssSha256,
    Algorithm::RsaSsaPssSha384,
    Algorithm::RsaSsaPssSha512,
    Algorithm::EcdsaP256Sha256,
    Algorithm::EcdsaP384Sha384,
    Algorithm::EdDsa,
];

/// The client of a registration. A macro, as its type has seventeen parameters.
macro_rules! client {
    ($metadata:expr, $registration:expr) => {{
        let redirect_uri = RedirectUrl::new($registration.redirect_uri.clone());
        let redirect_uri = redirect_uri.map_err(|error| ProviderFault::of("callback", error))?;
        CoreClient::from_provider_metadata(
            $metadata,
            ClientId::new($registration.client_id.clone()),
            Some(ClientSecret::new($registration.client_secret.clone())),
        )
        .set_redirect_uri(redirect_uri)
    }};
}

/// An account's registration at a provider.
pub(super) struct Registration {
    pub(super) issuer: String,
    pub(super) client_id: String,
    pub(super) client_secret: String,
    pub(super) redirect_uri: String,
}

/// The random values of one sign-in.
pub(super) struct Attempt {
    pub(super) state: String,
    pub(super) nonce: String,
    pub(super) verifier: String,
}

/// Whom a provider has named.
#[derive(Debug)]
pub(super) struct Identity {
    /// The address, if the provider has verified it.
    pub(super) email: Option<String>,
    pub(super) name: Option<String>,
}

/// Why a provider named nobody. The text is for logs and for owners: it has nothing of a person.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ProviderFault(String);

impl ProviderFault {
    fn of(what: &str, error: impl std::error::Error) -> Self {
        let mut words = format!("{what}: {error}");
        let mut cause = error.source();
        while let Some(inner) = cause {
            words.push_str(&format!(": {inner}"));
            cause = inner.source();
        }
        Self(words)
    }
}

type Result<T, E = ProviderFault> = std::result::Result<T, E>;

/// The providers that were asked lately.
pub(super) struct Oidc {
    client: GuardedClient,
    kept: Mutex<HashMap<String, (CoreProviderMetadata, Timestamp)>>,
}

impl Oidc {
    pub(super) fn new(client: GuardedClient) -> Self {
        Self {
            client,
            kept: Mutex::default(),
        }
    }

    /// What sends the requests of the protocol.
    fn fetch(
        &self,
    ) -> impl Fn(HttpRequest) -> BoxFuture<'static, io::Result<HttpResponse>> + use<> {
        let client = self.client.clone();
        move |request| {
            let client = client.clone();
            async move { limited(&client, request).await }.boxed()
        }
    }

    pub(super) fn policy(&self) -> Policy {
        self.client.policy()
    }

    /// Reads a provider's configuration and keys.
    pub(super) async fn discover(
        &self,
        issuer: &str,
        now: Timestamp,
    ) -> Result<CoreProviderMetadata> {
        let url = IssuerUrl::new(issuer.to_owned());
        let url = url.map_err(|error| ProviderFault::of("issuer", error))?;
        let fetch = self.fetch();
        let found = CoreProviderMetadata::discover_async(url, &fetch).await;
        let found = found.map_err(|error| ProviderFault::of("configuration", error))?;
        let mut kept = self.kept.lock();
        if kept.len() >= KEPT_AT_MOST {
            kept.clear();
        }
        kept.insert(issuer.to_owned(), (found.clone(), now));
        Ok(found)
    }

    /// The same, from memory if it was read within `age`.
    async fn metadata(
        &self,
        issuer: &str,
        age: Duration,
        now: Timestamp,
    ) -> Result<CoreProviderMetadata> {
        let kept = self.kept.lock().get(issuer).cloned();
        match kept.filter(|(_, read_at)| now.since(*read_at) < age) {
            Some((metadata, _)) => Ok(metadata),
            None => self.discover(issuer, now).await,
        }
    }

    /// Where a person signs in at the provider.
    pub(super) async fn authorize(
        &self,
        registration: &Registration,
        attempt: &Attempt,
        now: Timestamp,
    ) -> Result<String> {
        let metadata = self.metadata(&registration.issuer, KEPT_FOR, now).await?;
        let client = client!(metadata, registration);
        let verifier = PkceCodeVerifier::new(attempt.verifier.clone());
        let (state, nonce) = (attempt.state.clone(), attempt.nonce.clone());
        let (url, _, _) = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                move || CsrfToken::new(state),
                move || Nonce::new(nonce),
            )
            .add_scope(Scope::new("email".to_owned()))
            .add_scope(Scope::new("profile".to_owned()))
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .url();
        // It becomes a link, so it is as a page's address is.
        TargetUrl::parse(url.as_str(), self.client.policy())
            .map_err(|_| ProviderFault("authorization endpoint: not an https URL".to_owned()))?;
        Ok(url.into())
    }

    /// Exchanges the code with which the provider has sent a person back, and verifies whom it names.
    pub(super) async fn identify(
        &self,
        registration: &Registration,
        attempt: &Attempt,
        code: &str,
        now: Timestamp,
    ) -> Result<Identity> {
        let metadata = self.metadata(&registration.issuer, KEPT_FOR, now).await?;
        let client = client!(metadata.clone(), registration);
        let fetch = self.fetch();
        let granted = client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .map_err(|error| ProviderFault::of("token endpoint", error))?
            .set_pkce_verifier(PkceCodeVerifier::new(attempt.verifier.clone()))
            .request_async(&fetch)
            .await
            .map_err(|error| ProviderFault::of("token endpoint", error))?;
        let token = granted.id_token();
        let token = token.ok_or_else(|| ProviderFault("token endpoint: no ID token".to_owned()))?;
        let nonce = Nonce::new(attempt.nonce.clone());
        let verify = |metadata| {
            let client = client!(metadata, registration);
            let verifier = client
                .id_token_verifier()
                .set_allowed_algs(ALGORITHMS)
                .set_time_fn(move || {
                    DateTime::from_timestamp_micros(now.micros()).unwrap_or_default()
                });
            Ok::<_, ProviderFault>(token.claims(&verifier, &nonce).cloned())
        };
        let claims = match verify(metadata)? {
            // The provider may have new keys.
            Err(ClaimsVerificationError::SignatureVerification(_)) => {
                let anew = self.metadata(&registration.issuer, KEYS_REST, now).await?;
                verify(anew)?
            }
            verified => verified,
        };
        let claims = claims.map_err(|error| ProviderFault::of("ID token", error))?;
        let is_verified = claims.email_verified().unwrap_or(false);
        let name = claims.name().and_then(|name| name.get(None));
        let mut identity = Identity {
            email: claims
                .email()
                .filter(|_| is_verified)
                .map(|email| email.to_string()),
            name: name.map(|name| name.to_string()),
        };
        // With a code, a provider may tell these claims here alone (OpenID Connect Core 1.0, 5.4).
        if claims.email().is_none()
            && let Ok(asked) = client.user_info(
                granted.access_token().clone(),
                Some(claims.subject().clone()),
            )
        {
            let told: CoreUserInfoClaims = asked
                .request_async(&fetch)
                .await
                .map_err(|error| ProviderFault::of("userinfo endpoint", error))?;
            let is_verified = told.email_verified().unwrap_or(false);
            let email = told.email().filter(|_| is_verified);
            let name = told.name().and_then(|name| name.get(None));
            identity.email = email.map(|email| email.to_string());
            identity.name = name.map(|name| name.to_string()).or(identity.name);
        }
        Ok(identity)
    }
}

/// Sends a request of the protocol.
async fn limited(client: &GuardedClient, request: HttpRequest) -> io::Result<HttpResponse> {
    let exchanged = timeout(TIMEOUT, exchange(client, request)).await;
    exchanged.map_err(|_| io::Error::other(Failure::Timeout.as_str()))?
}

async fn exchange(client: &GuardedClient, request: HttpRequest) -> io::Result<HttpResponse> {
    let failed = |error: &reqwest::Error| io::Error::other(Failure::of(error).as_str());
    let (head, body) = request.into_parts();
    let target = TargetUrl::parse(&head.uri.to_string(), client.policy());
    let target = target.map_err(|_| io::Error::other("the URL is not allowed"))?;
    let asked = client.request(head.method, &target);
    let asked = asked.map_err(|_| io::Error::other("the URL is not allowed"))?;
    let asked = asked.headers(head.headers).body(body).send().await;
    let mut answer = asked.map_err(|error| failed(&error))?;
    let mut read = http::Response::new(Vec::new());
    *read.status_mut() = answer.status();
    *read.headers_mut() = answer.headers().clone();
    while let Some(chunk) = answer.chunk().await.map_err(|error| failed(&error))? {
        if read.body().len() + chunk.len() > MAX_ANSWER_BYTES {
            return Err(io::Error::other("the answer is too large"));
        }
        read.body_mut().extend_from_slice(&chunk);
    }
    Ok(read)
}
