//! Connects an application: OAuth 2.0, authorization code with PKCE (RFC 6749, RFC 7636), as RFC 9700 requires.
//!
//! A member starts it in the portal. The state sent to the application belongs to one session and one account, and is
//! valid once, for ten minutes. It alone says which toolkit is meant, so that one application's response cannot be
//! taken for another's. While the state is valid, the toolkit is `connecting`. Nothing else is written for that, so a
//! member who goes back, denies or closes the page leaves everything as it was.

use futures_util::FutureExt as _;
use offhook_boxed::boxed;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use offhook_domain::ports::{Application, Authorization, Grant, GrantError, ToolkitFunction};
use offhook_domain::tool::{HttpRequest, TOOLS_AT_MOST, Tool, ToolKind};
use offhook_domain::{AccountId, IntegrationFault, Json, Timestamp};
use offhook_storage::{NewConsent, StoreError, ToolRow, mint};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::time::sleep;

use super::{Integrations, tokens::Tokens};
use crate::digest::sha256;
use crate::{Person, Toolkit};

/// How long a consent may take.
const CONSENT_LIMIT: Duration = Duration::from_secs(600);

const STATE_BYTES: usize = 32;

/// How often a connection is written again because a tool's name was taken meanwhile.
const TRIES: usize = 5;

/// How often, and how long, to wait for a database that is briefly unavailable.
const PAUSES: usize = 20;
const PAUSE: Duration = Duration::from_millis(500);

/// The total time limit of an application's tool.
pub(super) const TIMEOUT_MS: i64 = 10_000;

/// A consent that a member is to give.
#[derive(Debug)]
pub struct Begun {
    /// The toolkit to connect.
    pub toolkit: Toolkit,
    /// Where the member gives consent.
    pub url: String,
    /// The functions agents get, as described to models.
    pub functions: Vec<&'static str>,
}

/// The parameters with which an application redirects the member back.
pub enum ConsentAnswer<'a> {
    Code(&'a str),
    /// An error; `access_denied` means that the member denied consent.
    Error(&'a str),
}

/// Why a toolkit was not connected or disconnected.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("this service does not connect such a toolkit")]
    NotOffered,
    /// No consent with that state is pending in this session and account.
    #[error("no consent with that state is waited for")]
    Stale,
    /// The member denied consent.
    #[error("the consent to {0} was denied")]
    Denied(&'static str),
    /// The application named here granted nothing.
    #[error("{0} granted nothing: {1}")]
    NotGranted(&'static str, GrantError),
    /// The tools of the application named here would exceed an account's limit.
    #[error("with the tools of {0} the account would have more than {TOOLS_AT_MOST}")]
    TooManyTools(&'static str),
    #[error("the toolkit is not connected")]
    NotConnected,
    #[error(transparent)]
    Store(#[from] StoreError),
}

type Result<T, E = ConnectError> = std::result::Result<T, E>;

#[boxed]
impl Integrations {
    /// Starts connecting a toolkit. Returns where the member gives consent, to be redirected to `redirect_uri`.
    /// [`ConnectError::NotGranted`] means that `redirect_uri` is invalid.
    pub async fn begin(&self, person: &Person, toolkit: &str, redirect_uri: &str) -> Result<Begun> {
        let (application, offered) = self.offered(toolkit)?;
        let now = self.0.clock.now();
        let account = person.caller.account.id;
        // Checked before a member consents in vain.
        self.missing_tools(account, &*application, now).await?;
        let state = fresh_state()?;
        let Authorization { url, verifier } = application
            .consents()
            .authorize(redirect_uri, &state)
            .map_err(|error| ConnectError::NotGranted(offered.name, error))?;
        let consent = NewConsent {
            id: mint(now),
            digest: sha256(state.as_bytes()),
            session_digest: person.session,
            account_id: account,
            toolkit: toolkit.to_owned(),
            expires_at: now.plus(CONSENT_LIMIT),
        };
        let secret = Json::object([
            ("verifier", Json::from(verifier.as_str())),
            ("redirect_uri", Json::from(redirect_uri)),
        ]);
        let secret = secret.to_compact();
        self.0.store.ask_consent(consent, &secret).await?;
        let functions = application.functions();
        Ok(Begun {
            toolkit: offered,
            url,
            functions: functions
                .iter()
                .map(|function| function.description)
                .collect(),
        })
    }

    fn offered(&self, toolkit: &str) -> Result<(Arc<dyn Application>, Toolkit)> {
        let application = self.application(toolkit);
        let offered = application.zip(Toolkit::of(toolkit));
        offered.ok_or(ConnectError::NotOffered)
    }

    /// Handles a member's redirect from an application: connects the toolkit, makes its functions tools of the account,
    /// and returns the toolkit. If the application granted nothing, that is written as an error of a toolkit without
    /// another connection. Any other error changes nothing.
    pub async fn finish(
        &self,
        person: &Person,
        state: &str,
        answer: ConsentAnswer<'_>,
    ) -> Result<Toolkit> {
        let account = person.caller.account.id;
        let digests = (sha256(state.as_bytes()), person.session);
        let now = self.0.clock.now();
        let taken = self.0.store.take_consent(account, digests, now).await?;
        let (toolkit, secret) = taken.ok_or(ConnectError::Stale)?;
        // It was offered when the consent began.
        let (application, offered) = self.offered(&toolkit)?;
        let name = offered.name;
        let code = match answer {
            ConsentAnswer::Code(code) => code,
            ConsentAnswer::Error("access_denied") => return Err(ConnectError::Denied(name)),
            ConsentAnswer::Error(_) => {
                let fault = IntegrationFault::ConsentError(name.to_owned());
                self.failed(account, &toolkit, &fault).await?;
                return Err(ConnectError::NotGranted(name, GrantError::Malformed));
            }
        };
        let (verifier, redirect_uri) = opened(&secret)?;
        // The state is used up, so the rest runs to its end even if the browser disconnects.
        let (integrations, code) = (self.clone(), code.to_owned());
        let work = tokio::spawn(
            async move {
                let granted = application
                    .consents()
                    .exchange(&code, &verifier, &redirect_uri);
                match granted.await {
                    Ok(grant) => integrations.connect(account, &*application, grant).await?,
                    Err(error) => {
                        let fault = not_granted(offered, error);
                        integrations.failed(account, &toolkit, &fault).await?;
                        return Err(ConnectError::NotGranted(name, error));
                    }
                }
                Ok(offered)
            }
            .boxed(),
        );
        let ended = work.await;
        ended.map_err(|error| StoreError::Internal(error.to_string()))?
    }

    /// Disconnects a toolkit: deletes its tokens and has the application revoke them. Returns whether the revocation is
    /// certain. Its tools stay, and tell models that it is not connected.
    pub async fn disconnect(&self, account: AccountId, toolkit: &str) -> Result<bool> {
        let store = &self.0.store;
        let removed = store.disconnect_integration(account, toolkit.to_owned());
        let Some(secret) = removed.await?.ok_or(ConnectError::NotConnected)? else {
            return Ok(true);
        };
        let Some(application) = self.application(toolkit) else {
            return Ok(false);
        };
        let tokens = Tokens::read(&secret)?;
        let revoked = tokio::spawn(
            async move { application.consents().revoke(tokens.whole()).await }.boxed(),
        )
        .await;
        Ok(matches!(revoked, Ok(Ok(()))))
    }

    /// Writes the connection, and a tool for each function that has none in the account.
    async fn connect(
        &self,
        account: AccountId,
        application: &dyn Application,
        grant: Grant,
    ) -> Result<()> {
        let toolkit = application.toolkit();
        let now = self.0.clock.now();
        let (tokens, lapses_at) = Tokens::granted(grant, None, now);
        let (mut tries, mut pauses) = (0, 0);
        loop {
            let written = async {
                let tools = self.missing_tools(account, application, now).await?;
                let whose = (account, toolkit.to_owned());
                let secret = tokens.to_text();
                let store = &self.0.store;
                let connected = store.connect_integration(whose, &secret, lapses_at, tools, now);
                Ok::<_, ConnectError>(connected.await?)
            };
            match written.await {
                Ok(_) => return Ok(()),
                Err(ConnectError::Store(StoreError::Conflict(_))) if tries < TRIES => tries += 1,
                // The grant cannot be obtained again.
                Err(ConnectError::Store(error)) if error.may_pass() && pauses < PAUSES => {
                    pauses += 1;
                    sleep(PAUSE).await;
                }
                Err(error) => {
                    self.0.give_back(account, application, &tokens).await;
                    return Err(error);
                }
            }
        }
    }

    async fn failed(
        &self,
        account: AccountId,
        toolkit: &str,
        fault: &IntegrationFault,
    ) -> Result<(), StoreError> {
        let (store, now) = (&self.0.store, self.0.clock.now());
        store
            .connecting_failed(account, toolkit.to_owned(), fault.to_string(), now)
            .await
    }

    /// A tool for each function that has none in the account, each with a unique name.
    async fn missing_tools(
        &self,
        account: AccountId,
        application: &dyn Application,
        at: Timestamp,
    ) -> Result<Vec<ToolRow>> {
        let store = &self.0.store;
        let rows = store.tools(account, None, i64::from(u16::MAX)).await?;
        let known: Vec<Tool> = rows
            .iter()
            .filter_map(|row| Tool::from_stored(&row.definition).ok())
            .collect();
        let toolkit = application.toolkit();
        let mut missing: Vec<ToolRow> = Vec::new();
        for function in application.functions() {
            let key = format!("{toolkit}.{}", function.name);
            if known
                .iter()
                .any(|tool| tool.function.as_deref() == Some(&key))
            {
                continue;
            }
            let is_free = |name: &String| !known.iter().any(|tool| tool.name == *name);
            let plain = format!("{toolkit}_{}", function.name);
            let others = (2..100).map(|n| format!("{plain}_{n}"));
            let mut names = std::iter::once(plain.clone()).chain(others);
            let name = names.find(is_free).unwrap_or(plain);
            let tool = tool(name, key, function)?;
            missing.push(ToolRow {
                id: mint(at),
                account_id: account,
                name: tool.name.clone(),
                definition: tool.to_stored(),
                revision: 1,
                created_at: at,
                updated_at: at,
            });
        }
        let all = i64::try_from(rows.len() + missing.len()).unwrap_or(i64::MAX);
        if !missing.is_empty() && all > TOOLS_AT_MOST {
            return Err(ConnectError::TooManyTools(Toolkit::name_of(toolkit)));
        }
        Ok(missing)
    }
}

/// A function as a tool of an account.
fn tool(name: String, key: String, function: ToolkitFunction) -> Result<Tool, StoreError> {
    let parameters = Json::parse(function.parameters.as_bytes())
        .map_err(|_| StoreError::Internal(format!("the schema of {key} is no JSON")))?;
    Ok(Tool {
        name,
        description: function.description.to_owned(),
        kind: ToolKind::Http,
        parameters,
        http: Some(HttpRequest {
            method: function.method,
            url: function.url,
            headers: Vec::new(),
            timeout_ms: TIMEOUT_MS,
        }),
        targets: None,
        functions: Vec::new(),
        described: Vec::new(),
        function: Some(key),
    })
}

/// Tells the account why a toolkit is not connected.
fn not_granted(toolkit: Toolkit, error: GrantError) -> IntegrationFault {
    let name = toolkit.name.to_owned();
    match error {
        GrantError::Unreachable => IntegrationFault::Silent(name),
        GrantError::Refused => IntegrationFault::ConsentRefused(name),
        GrantError::Client => IntegrationFault::UnknownClient {
            name,
            toolkit: toolkit.toolkit.to_owned(),
        },
        GrantError::Partial => IntegrationFault::Partial(name),
        GrantError::Answered(status) => IntegrationFault::Status { name, status },
        GrantError::Malformed | GrantError::NoRevocation => IntegrationFault::Malformed(name),
    }
}

fn opened(secret: &str) -> Result<(String, String), StoreError> {
    let corrupt = || StoreError::Corrupt("a consent's secret".to_owned());
    let json = Json::parse(secret.as_bytes()).map_err(|_| corrupt())?;
    let text = |name| json.get(name).and_then(Json::as_str).map(str::to_owned);
    let both = text("verifier").zip(text("redirect_uri"));
    both.ok_or_else(corrupt)
}

fn fresh_state() -> Result<String, StoreError> {
    let mut random = [0; STATE_BYTES];
    SystemRandom::new()
        .fill(&mut random)
        .map_err(|_| StoreError::Internal("the system gives no randomness".to_owned()))?;
    Ok(URL_SAFE_NO_PAD.encode(random))
}
