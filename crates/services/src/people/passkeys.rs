//! Passkeys (WebAuthn): added with the password, and signed in with alone or after the password. The authenticator verifies
//! its user each time, so that a passkey alone is two factors.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;
use webauthn_rs::prelude::{
    DiscoverableAuthentication, Passkey as Credential, PasskeyRegistration, PublicKeyCredential,
    RegisterPublicKeyCredential, Url, Webauthn, WebauthnBuilder, WebauthnError,
};

use super::sessions::{SignInError, begin, network, token_digest};
use super::two_step::{GivenFactor, TwoStepError, new_recovery_codes};
use super::{People, Person, SignedIn};
use crate::Result;
use crate::digest::sha256;
use crate::prelude::*;
use crate::team::checked_name;

/// The most passkeys of a person.
const MOST: usize = 20;

/// The service as authenticators know it: passkeys belong to the host name, and are used at the one origin.
#[derive(Debug, Clone)]
pub struct RelyingParty(Webauthn);

impl RelyingParty {
    /// The one at this address; `None` where browsers use no passkeys: without a host name, or without HTTPS on another
    /// host than `localhost`.
    pub fn at(public_url: &str) -> Option<Self> {
        let url = Url::parse(public_url).ok()?;
        let host = url.domain()?;
        if url.scheme() != "https" && host != "localhost" {
            return None;
        }
        let party = WebauthnBuilder::new(host, &url).ok()?;
        Some(Self(party.rp_name("Offhook").build().ok()?))
    }
}

/// What an answer is verified with.
#[derive(Serialize, Deserialize)]
enum Challenge {
    /// Somebody signs in or proves who they are.
    Sign(DiscoverableAuthentication),
    /// A signed-in person adds a passkey.
    Add {
        state: PasskeyRegistration,
        handle: Uuid,
        name: String,
    },
}

impl Challenge {
    fn read(kept: Option<String>) -> Option<Self> {
        serde_json::from_str(&kept?).ok()
    }
}

/// A passkey that has signed.
struct Signed {
    passkey: Passkey,
    proof: Proof,
    /// Whether the authenticator has named its user.
    names_user: bool,
}

/// The options of a browser's call.
fn options(response: impl Serialize) -> Result<Value> {
    let written = serde_json::to_value(response).map_err(internal)?;
    Ok(written.get("publicKey").cloned().unwrap_or_default())
}

fn internal(error: impl std::fmt::Display) -> StoreError {
    StoreError::Internal(format!("passkeys: {error}"))
}

#[boxed]
impl People {
    /// The person's passkeys, the oldest first.
    async fn passkeys(&self, person: &Person) -> Result<Vec<Passkey>> {
        let email = person.member.email.clone();
        Ok(self.ctx.store.second_factors(email).await?.passkeys)
    }

    /// A challenge of this browser, and the options with which it asks for a passkey: for any, or for one of `allowed`.
    async fn challenge(
        &self,
        party: &RelyingParty,
        (digest, source): ([u8; 32], [u8; 32]),
        allowed: Option<&[Passkey]>,
    ) -> Result<Value> {
        let begun = party.0.start_discoverable_authentication();
        let (response, state) = begun.map_err(internal)?;
        let mut options = options(response)?;
        if let Some(allowed) = allowed {
            let credentials = allowed.iter().map(|passkey| {
                let id = URL_SAFE_NO_PAD.encode(&passkey.credential_id);
                json!({ "type": "public-key", "id": id })
            });
            options["allowCredentials"] = credentials.collect();
        }
        let state = serde_json::to_string(&Challenge::Sign(state)).map_err(internal)?;
        let at = self.ctx.clock.now();
        let new = NewChallenge {
            digest,
            source,
            state,
            at,
        };
        self.ctx.store.keep_challenge(new).await?;
        Ok(options)
    }

    /// Begins a sign-in with a passkey: the browser's token, and the options of its call. `address` is the client's.
    pub async fn begin_passkey_sign_in(
        &self,
        party: &RelyingParty,
        address: IpAddr,
    ) -> Result<(String, Value)> {
        let (token, session) = begin(self.ctx.clock.now())?;
        let source = sha256(format!("passkey {}", network(address)).as_bytes());
        let options = self.challenge(party, (session.digest, source), None);
        Ok((token, options.await?))
    }

    /// Begins the proof of a sign-in that waits for a second factor; `None` if it does not wait.
    pub async fn begin_passkey_after_password(
        &self,
        party: &RelyingParty,
        token: &str,
    ) -> Result<Option<Value>> {
        let digest = some_or!(token_digest(token), None);
        let now = self.ctx.clock.now();
        let email = some_or!(self.ctx.store.half_sign_in(digest, now).await?, None);
        let passkeys = self.ctx.store.second_factors(email).await?.passkeys;
        let options = self.challenge(party, (digest, digest), Some(&passkeys));
        Ok(Some(options.await?))
    }

    /// Begins the proof of a signed-in person, for a form that asks for it.
    pub async fn begin_passkey_proof(
        &self,
        party: &RelyingParty,
        person: &Person,
    ) -> Result<Value> {
        let passkeys = self.passkeys(person).await?;
        let of = (person.session, person.session);
        self.challenge(party, of, Some(&passkeys)).await
    }

    /// Starts the session of the person whose passkey has answered the challenge of this token. `address` is the client's.
    /// An unknown passkey is counted and refused as a wrong password is.
    pub async fn sign_in_with_passkey(
        &self,
        party: &RelyingParty,
        token: &str,
        answer: &str,
        address: IpAddr,
    ) -> Result<SignedIn, SignInError> {
        let read: Result<PublicKeyCredential, _> = serde_json::from_str(answer);
        let named = read.as_ref().map(|answer| hex::encode(&answer.raw_id));
        let named = format!("passkey {}", named.unwrap_or_default());
        let tried = self.take_attempt(&named, address, None).await?;
        let digest = token_digest(token).ok_or(SignInError::Wrong)?;
        let signed = self.signed(party, digest, answer).await?;
        // With no password before, the authenticator says whose passkey it is.
        let signed = signed.filter(|signed| signed.names_user);
        let Signed { passkey, proof, .. } = signed.ok_or(SignInError::Wrong)?;
        let (_, memberships) = self.ctx.store.person(passkey.email.clone()).await?;
        let Some(membership) = memberships.into_iter().next() else {
            return Err(match self.ctx.store.is_member(passkey.email).await? {
                true => SignInError::SingleSignOnRequired,
                false => SignInError::Wrong,
            });
        };
        let (token, session) = begin(self.ctx.clock.now())?;
        let store = &self.ctx.store;
        let begun =
            store.begin_session_by_passkey(membership.member, proof, session, tried.taken_back());
        let member = begun.await?.ok_or(SignInError::Wrong)?;
        tracing::info!(member = %member.id, account = %member.account_id, "signed in with a passkey");
        self.signed_in(token).await
    }

    /// The passkey that has answered this browser's challenge; `None` if there is no such challenge any more or the answer
    /// is not right. Either way the challenge is used up.
    async fn signed(
        &self,
        party: &RelyingParty,
        digest: [u8; 32],
        answer: &str,
    ) -> Result<Option<Signed>> {
        let (store, now) = (&self.ctx.store, self.ctx.clock.now());
        let kept = store.take_challenge(digest, now).await?;
        let Some(Challenge::Sign(state)) = Challenge::read(kept) else {
            return Ok(None);
        };
        let Ok(answer) = serde_json::from_str::<PublicKeyCredential>(answer) else {
            return Ok(None);
        };
        let passkey = some_or!(store.passkey(answer.raw_id.clone()).await?, None);
        let named = answer.get_user_unique_id();
        if named.is_some_and(|handle| handle != passkey.user_handle) {
            return Ok(None);
        }
        let mut credential = credential_of(&passkey)?;
        let verified = party
            .0
            .finish_discoverable_authentication_v2(&answer, state, &credential);
        let verified = match verified {
            Ok(verified) => verified,
            Err(error) => {
                tracing::info!(passkey = %passkey.id, %error, "a passkey was refused");
                if matches!(error, WebauthnError::CredentialPossibleCompromise) {
                    self.note_copy(&passkey).await?;
                }
                return Ok(None);
            }
        };
        credential.update_credential(&verified);
        let proof = Proof::Passkey {
            id: passkey.id,
            before: passkey.credential.clone(),
            after: serde_json::to_string(&credential).map_err(internal)?,
        };
        let names_user = named.is_some();
        Ok(Some(Signed {
            passkey,
            proof,
            names_user,
        }))
    }

    /// Writes to the audit log that a passkey's counter went back: there may be a copy of it.
    async fn note_copy(&self, passkey: &Passkey) -> Result<()> {
        let store = &self.ctx.store;
        let (_, memberships) = store.person(passkey.email.clone()).await?;
        let one = some_or!(memberships.first(), ());
        let line = ("passkey.copy".to_owned(), passkey.id.to_string());
        let store = store.acting(Actor::Member(one.member.id));
        store
            .note(
                one.account.id,
                line,
                offhook_domain::Changes::default(),
                self.ctx.clock.now(),
            )
            .await
    }

    /// What a person's passkey has proved with this answer.
    pub(super) async fn passkey_proof(
        &self,
        party: &RelyingParty,
        digest: [u8; 32],
        (email, answer): (&EmailAddress, &str),
    ) -> Result<Option<Proof>> {
        let signed = self.signed(party, digest, answer).await?;
        let theirs = signed.filter(|signed| signed.passkey.email == *email);
        Ok(theirs.map(|signed| signed.proof))
    }

    /// Begins to add a passkey of this name: the options of the browser's call. Wrong passwords and proofs count against
    /// the user.
    pub async fn begin_passkey(
        &self,
        party: &RelyingParty,
        person: &Person,
        name: &str,
        (password, given): (&str, GivenFactor<'_>),
    ) -> Result<Value, TwoStepError> {
        let name = checked_name(name).map_err(|_| TwoStepError::Name)?;
        let (factors, confirmed) = self.confirm(person, password, given).await?;
        let (changed_at, proof, tried) = confirmed;
        if factors.passkeys.len() >= MOST {
            return Err(TwoStepError::TooMany);
        }
        let handle = match factors.passkeys.first() {
            Some(other) => Uuid::from_slice(&other.user_handle).map_err(internal)?,
            None => new_handle()?,
        };
        let known: Result<Vec<_>> = factors.passkeys.iter().map(credential_of).collect();
        let known = known?.iter().map(|one| one.cred_id().clone()).collect();
        let member = &person.member;
        let begun = party.0.start_passkey_registration(
            handle,
            member.email.as_str(),
            &member.name,
            Some(known),
        );
        let (response, state) = begun.map_err(internal)?;
        let mut options = options(response)?;
        // To sign in without an address, the authenticator must find the passkey by itself.
        options["authenticatorSelection"]["residentKey"] = json!("required");
        options["authenticatorSelection"]["requireResidentKey"] = json!(true);
        let challenge = Challenge::Add {
            state,
            handle,
            name,
        };
        let new = NewChallenge {
            digest: person.session,
            source: person.session,
            state: serde_json::to_string(&challenge).map_err(internal)?,
            at: self.ctx.clock.now(),
        };
        let store = &self.ctx.store;
        let kept = store.keep_challenge_of((member.email.clone(), changed_at), proof, new);
        if !kept.await? {
            return Err(TwoStepError::Code);
        }
        self.give_back(tried).await?;
        Ok(options)
    }

    /// Adds the passkey that the browser has made for [`People::begin_passkey`]. If it is the user's first second factor,
    /// their other sessions end, and it returns the recovery codes, which are shown once.
    pub async fn finish_passkey(
        &self,
        party: &RelyingParty,
        person: &Person,
        answer: &str,
    ) -> Result<Option<Vec<String>>, TwoStepError> {
        let at = self.ctx.clock.now();
        let kept = self.ctx.store.take_challenge(person.session, at).await?;
        let Some(Challenge::Add {
            state,
            handle,
            name,
        }) = Challenge::read(kept)
        else {
            return Err(TwoStepError::Passkey);
        };
        let answer: Result<RegisterPublicKeyCredential, _> = serde_json::from_str(answer);
        let answer = answer.map_err(|_| TwoStepError::Passkey)?;
        let credential = match party.0.finish_passkey_registration(&answer, &state) {
            Ok(credential) => credential,
            Err(error) => {
                tracing::info!(member = %person.member.id, %error, "a new passkey was refused");
                return Err(TwoStepError::Passkey);
            }
        };
        let new = Passkey {
            id: mint(at),
            email: person.member.email.clone(),
            credential_id: credential.cred_id().to_vec(),
            user_handle: handle.as_bytes().to_vec(),
            name,
            credential: serde_json::to_string(&credential).map_err(internal)?,
            created_at: at,
            used_at: None,
        };
        let (codes, digests) = new_recovery_codes()?;
        let store = self.ctx.store.acting(person.actor());
        let digest = person.session;
        let session = NewSession { digest, at };
        let added = store.add_passkey(person.member.clone(), new, digests, session);
        match added.await? {
            PasskeyAdded::First => Ok(Some(codes)),
            PasskeyAdded::Another => Ok(None),
            PasskeyAdded::Known => Err(TwoStepError::Passkey),
        }
    }

    /// Removes a passkey and ends the user's other sessions; without another second factor two-step verification is off.
    /// Wrong passwords and proofs count against the user. `false` if they have no such passkey.
    pub async fn remove_passkey(
        &self,
        person: &Person,
        id: CredentialId,
        (password, given): (&str, GivenFactor<'_>),
    ) -> Result<bool, TwoStepError> {
        let theirs = self.passkeys(person).await?;
        if !theirs.iter().any(|passkey| passkey.id == id) {
            return Ok(false);
        }
        let (_, (changed_at, proof, tried)) = self.confirm(person, password, given).await?;
        let proof = proof.ok_or(TwoStepError::Changed)?;
        let store = self.ctx.store.acting(person.actor());
        let session = NewSession {
            digest: person.session,
            at: self.ctx.clock.now(),
        };
        let member = (person.member.clone(), changed_at);
        if !store.remove_passkey(member, id, proof, session).await? {
            return Err(TwoStepError::Code);
        }
        self.give_back(tried).await?;
        Ok(true)
    }
}

fn credential_of(passkey: &Passkey) -> Result<Credential> {
    serde_json::from_str(&passkey.credential)
        .map_err(|_| StoreError::Corrupt("a passkey's credential".to_owned()))
}

/// What authenticators are to know a person by: it tells nothing of them.
fn new_handle() -> Result<Uuid> {
    let mut random = [0; 16];
    SystemRandom::new()
        .fill(&mut random)
        .map_err(|_| StoreError::Internal("the system gives no randomness".to_owned()))?;
    Ok(Uuid::from_bytes(random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_need_a_host_name_and_https_or_localhost() {
        for (url, is_offered) in [
            ("https://voice.example.com", true),
            ("https://voice.example.com:8443", true),
            ("http://localhost:8080", true),
            ("http://voice.example.com", false),
            ("https://192.0.2.1", false),
            ("http://127.0.0.1:8080", false),
        ] {
            assert_eq!(RelyingParty::at(url).is_some(), is_offered, "{url}");
        }
    }
}
