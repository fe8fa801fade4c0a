//! Who asks for what: a page that is looked at, or a form that was sent. The role that is needed stands in the type.

use std::marker::PhantomData;
use std::ops::Deref;
use std::str::FromStr;

use actix_web::cookie::{Cookie, SameSite, time::Duration as CookieTime};
use actix_web::http::header::{CONTENT_TYPE, HeaderValue, LOCATION, ORIGIN, SET_COOKIE};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{self, BytesMut, Payload};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::StreamExt as _;
use maud::Markup;
use offhook_domain::{AccountId, MemberRole, RequestId, Timestamp};
use offhook_services::store::mint;
use offhook_services::{Caller, PageRequest, Person, Services};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::hmac;
use uuid::Uuid;

use crate::Portal;
use crate::fields::Fields;
use crate::lang::Lang;
use crate::layout::{self, Frame, Section};
use crate::sent;
use crate::trouble::{Answer, Trouble, Typed};

/// The cookie that holds a session's token.
pub(crate) const SESSION_COOKIE: &str = "offhook_session";

/// The cookie that carries one sentence to the next page.
pub(crate) const NOTICE_COOKIE: &str = "offhook_notice";

/// The hidden field that proves that a form is of this session.
pub(crate) const TOKEN_FIELD: &str = "_token";

/// The largest form: an agent's whole configuration with room to spare.
const MAX_FORM_BYTES: usize = 1024 * 1024;

/// Rows of a page of a list.
const PAGE_ROWS: u32 = 25;

/// A role that a page asks for.
pub(crate) trait Needs: 'static {
    /// The lowest role that may.
    const ROLE: MemberRole;
}

macro_rules! roles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl Needs for $name {
            const ROLE: MemberRole = MemberRole::$name;
        }
    )*};
}

roles! {
    /// Everybody of the account.
    Viewer;
    /// Those who build.
    Developer;
    /// Those who run the account. What is an owner's alone depends on what is changed, and is judged by the use case.
    Admin;
}

/// Somebody who is signed in, and what was asked.
pub(crate) struct Visitor {
    pub(crate) person: Person,
    pub(crate) portal: Portal,
    pub(crate) lang: Lang,
    req: HttpRequest,
    /// The session's token.
    session: String,
    query: Fields,
}

/// A page that is looked at by somebody whose role reaches `R`.
pub(crate) struct Visit<R = Viewer>(Visitor, PhantomData<R>);

/// A form that was sent, with its token, by somebody whose role reaches `R`.
pub(crate) struct Post<R> {
    visitor: Visitor,
    pub(crate) fields: Fields,
    role: PhantomData<R>,
}

/// A form whose body is a file: checked as [`Post`], its parts not yet read; the token is in the query (`?_token=`).
pub(crate) struct Upload<R> {
    visitor: Visitor,
    pub(crate) body: Payload,
    role: PhantomData<R>,
}

impl<R> Deref for Visit<R> {
    type Target = Visitor;
    fn deref(&self) -> &Visitor {
        &self.0
    }
}

impl<R> Deref for Post<R> {
    type Target = Visitor;
    fn deref(&self) -> &Visitor {
        &self.visitor
    }
}

impl<R> Deref for Upload<R> {
    type Target = Visitor;
    fn deref(&self) -> &Visitor {
        &self.visitor
    }
}

impl<R: Needs> Visit<R> {
    pub(crate) async fn read(portal: Portal, req: HttpRequest) -> Result<Self, Trouble> {
        let visitor = Visitor::read(portal, req).await?;
        let visitor = visitor.ok_or(Trouble::SignedOut { typed: None })?;
        visitor.check_role(R::ROLE)?;
        Ok(Self(visitor, PhantomData))
    }
}

impl<R: Needs> Post<R> {
    pub(crate) async fn read(
        portal: Portal,
        req: HttpRequest,
        body: Payload,
    ) -> Result<Self, Trouble> {
        check_origin(&req)?;
        let path = req.path().to_owned();
        let fields = read_form(&req, body).await?;
        let Some(visitor) = Visitor::read(portal, req).await? else {
            let typed = Typed {
                path,
                fields,
                has_file: false,
            };
            return Err(Trouble::SignedOut { typed: Some(typed) });
        };
        if !visitor.owns_token(fields.raw(TOKEN_FIELD)) {
            return Err(Trouble::Forged);
        }
        visitor.check_role(R::ROLE)?;
        Ok(Self {
            visitor,
            fields,
            role: PhantomData,
        })
    }
}

impl<R: Needs> Upload<R> {
    pub(crate) async fn read(
        portal: Portal,
        req: HttpRequest,
        body: Payload,
    ) -> Result<Self, Trouble> {
        check_origin(&req)?;
        let Some(visitor) = Visitor::read(portal, req.clone()).await? else {
            let mut fields = sent::before_the_file(&req, body).await;
            let query = Fields::parse(req.query_string().as_bytes());
            fields.push(TOKEN_FIELD, query.raw(TOKEN_FIELD));
            let typed = Typed {
                path: req.path().to_owned(),
                fields,
                has_file: true,
            };
            return Err(Trouble::SignedOut { typed: Some(typed) });
        };
        if !visitor.owns_token(visitor.query.raw(TOKEN_FIELD)) {
            return Err(Trouble::Forged);
        }
        visitor.check_role(R::ROLE)?;
        Ok(Self {
            visitor,
            body,
            role: PhantomData,
        })
    }
}

/// Browsers say where a form comes from; what comes from elsewhere is refused before anything is read.
pub(crate) fn check_origin(req: &HttpRequest) -> Result<(), Trouble> {
    let said = |name: &str| {
        let value = req.headers().get(name);
        value.and_then(|value| value.to_str().ok())
    };
    if said("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none") {
        return Err(Trouble::Forged);
    }
    let Some(origin) = said(ORIGIN.as_str()) else {
        return Ok(());
    };
    // A proxy may have rewritten the host; then the address that customers know tells.
    let is_public = portal_of(req)
        .and_then(|portal| portal.config.public_url.clone())
        .is_some_and(|url| url.trim_end_matches('/') == origin);
    let host = req.connection_info().host().to_owned();
    let is_ours = origin
        .split_once("://")
        .is_some_and(|(_, named)| named == host);
    match is_public || is_ours {
        true => Ok(()),
        false => Err(Trouble::Forged),
    }
}

/// The fields of a form of ours.
pub(crate) async fn read_form(req: &HttpRequest, body: Payload) -> Result<Fields, Trouble> {
    read_form_of(req, body, MAX_FORM_BYTES).await
}

/// The same, of a form of at most `most` bytes.
pub(crate) async fn read_form_of(
    req: &HttpRequest,
    mut body: Payload,
    most: usize,
) -> Result<Fields, Trouble> {
    let kind = req.headers().get(CONTENT_TYPE);
    let is_form = kind
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    let mut bytes = BytesMut::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|_| Trouble::Unreadable)?;
        if bytes.len() + chunk.len() > most {
            return Err(Trouble::Unreadable);
        }
        bytes.extend_from_slice(&chunk);
    }
    if !is_form && !bytes.is_empty() {
        return Err(Trouble::Unreadable);
    }
    Ok(Fields::parse(&bytes))
}

impl Visitor {
    /// Who the session's cookie says; `None` if nobody is signed in.
    async fn read(portal: Portal, req: HttpRequest) -> Result<Option<Self>, Trouble> {
        let Some(session) = req.cookie(SESSION_COOKIE) else {
            return Ok(None);
        };
        let session = session.value().to_owned();
        let people = portal.services.people();
        // What a page asks by itself, such as a part that looks again and again.
        let by_itself = req.method() == Method::GET && req.headers().contains_key("hx-request");
        let person = match by_itself {
            true => people.glance(&session).await?,
            false => people.who(&session).await?,
        };
        let Some(person) = person else {
            return Ok(None);
        };
        let lang = Lang::of(&req);
        let query = Fields::parse(req.query_string().as_bytes());
        Ok(Some(Self {
            person,
            portal,
            lang,
            req,
            session,
            query,
        }))
    }

    fn check_role(&self, needed: MemberRole) -> Result<(), Trouble> {
        match self.may(needed) {
            true => Ok(()),
            false => Err(Trouble::Role(needed)),
        }
    }

    /// Whether the member's role reaches `needed`: what else a page would offer is left out.
    pub(crate) fn may(&self, needed: MemberRole) -> bool {
        self.person.member.role.may(needed)
    }

    /// The use cases.
    pub(crate) fn services(&self) -> &Services {
        &self.portal.services
    }

    /// The account that is looked at.
    pub(crate) fn account(&self) -> AccountId {
        self.person.caller.account.id
    }

    /// The account as a caller of use cases, without a key.
    pub(crate) const fn caller(&self) -> &Caller {
        &self.person.caller
    }

    /// The language of the page.
    pub(crate) const fn lang(&self) -> Lang {
        self.lang
    }

    /// The present.
    pub(crate) fn now(&self) -> Timestamp {
        self.portal.services.clock().now()
    }

    /// An id for what needs a request's.
    pub(crate) fn request_id(&self) -> RequestId {
        mint(self.now())
    }

    /// The session's token: for what ends or changes the session itself.
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// The request.
    pub(crate) const fn request(&self) -> &HttpRequest {
        &self.req
    }

    /// A segment of the path, as text.
    pub(crate) fn param(&self, name: &str) -> &str {
        self.req.match_info().get(name).unwrap_or("")
    }

    /// An id of the path.
    ///
    /// # Errors
    /// Not found, as every id that the account does not have.
    pub(crate) fn id<T: FromStr>(&self, name: &str) -> Result<T, Trouble> {
        self.param(name).parse().map_err(|_| Trouble::not_found())
    }

    /// The query: filters of lists.
    pub(crate) const fn query(&self) -> &Fields {
        &self.query
    }

    /// The page of a list that the query asks for (`after=<micros>_<uuid>`, as [`Visitor::link_behind`] makes it); the
    /// first one if it says something else.
    pub(crate) fn page_of<Id>(&self, from_uuid: impl Fn(Uuid) -> Id) -> PageRequest<Id> {
        let after = self.query.get("after").and_then(|after| {
            let (micros, id) = after.split_once('_')?;
            let at = Timestamp::from_micros(micros.parse().ok()?);
            Some((at, from_uuid(id.parse().ok()?)))
        });
        PageRequest {
            after,
            limit: PAGE_ROWS,
        }
    }

    /// A link to the same list behind a row, with the same filters.
    pub(crate) fn link_behind(&self, at: Timestamp, id: Uuid) -> String {
        self.link_with("after", &format!("{}_{id}", at.micros()))
    }

    /// A link to this page with one field of the query set to `value`.
    pub(crate) fn link_with(&self, name: &str, value: &str) -> String {
        let mut fields = Fields::default();
        for (field, kept) in self.query.iter().filter(|(field, _)| *field != name) {
            fields.push(field, kept);
        }
        fields.push(name, value);
        format!("{}?{}", self.req.path(), fields.encode())
    }

    /// A link to the beginning of this list, with the same filters.
    pub(crate) fn link_to_beginning(&self) -> String {
        let mut fields = Fields::default();
        for (field, kept) in self.query.iter().filter(|(field, _)| *field != "after") {
            fields.push(field, kept);
        }
        format!("{}?{}", self.req.path(), fields.encode())
    }

    /// The token that a form of this session carries: the session's own, digested, so that a page never holds it.
    pub(crate) fn form_token(&self) -> String {
        token_of(&self.session, self.account())
    }

    fn owns_token(&self, token: &str) -> bool {
        let key = form_key(&self.session);
        let form = form_of(self.account());
        let tag = token.split_once('.').map_or("", |(_, tag)| tag);
        hex::decode(tag).is_ok_and(|tag| hmac::verify(&key, form.as_bytes(), &tag).is_ok())
    }

    /// The service's own address, as the reader's code would use it.
    pub(crate) fn base_url(&self) -> String {
        match &self.portal.config.public_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => {
                let info = self.req.connection_info();
                format!("{}://{}", info.scheme(), info.host())
            }
        }
    }

    /// What stands around every page.
    pub(crate) fn frame(&self, section: Section) -> Frame<'_> {
        Frame {
            lang: self.lang,
            section: Some(section),
            visitor: Some(self),
            notice: notice(&self.req),
            // What answers a form is nowhere to come back to.
            path: match *self.req.method() == Method::GET {
                true => self.req.uri().to_string(),
                false => format!("{}{}", crate::PATH, section.path()),
            },
        }
    }

    /// A whole page.
    pub(crate) fn page(&self, section: Section, title: &str, body: &Markup) -> HttpResponse {
        layout::page(&self.frame(section), StatusCode::OK, title, body)
    }

    /// A page with a form that was refused: 422, so that it is not taken for done.
    pub(crate) fn refused(&self, section: Section, title: &str, body: &Markup) -> HttpResponse {
        let frame = self.frame(section);
        layout::page(&frame, StatusCode::UNPROCESSABLE_ENTITY, title, body)
    }

    /// A part of a page, for htmx.
    pub(crate) fn part(&self, body: &Markup) -> HttpResponse {
        layout::part(body)
    }

    /// To another page of the portal, with a sentence for it. `path` begins behind `/portal`.
    pub(crate) fn go(&self, path: &str, said: &str) -> HttpResponse {
        go(&self.portal, path, said)
    }

    /// As [`Visitor::go`], and the audit log tells what was changed: `action` such as `agent.publish`, `target` an id.
    ///
    /// # Errors
    /// The store failed.
    pub(crate) async fn done(&self, action: &str, target: &str, path: &str, said: &str) -> Answer {
        self.note(action, target).await?;
        Ok(self.go(path, said))
    }

    /// Writes a change to the audit log.
    ///
    /// # Errors
    /// The store failed.
    pub(crate) async fn note(&self, action: &str, target: &str) -> Result<(), Trouble> {
        let people = self.services().people();
        Ok(people.note(&self.person, action, target).await?)
    }
}

/// The token that forms of a session carry while it is in this account: one that was drawn for another does nothing here.
/// It names the account, for a form whose session has ended.
pub(crate) fn token_of(session: &str, account: AccountId) -> String {
    let tag = hmac::sign(&form_key(session), form_of(account).as_bytes());
    format!("{account}.{}", hex::encode(tag))
}

/// The account that a form's token names: where its sender was, if they tell the truth.
pub(crate) fn account_named(token: &str) -> Option<AccountId> {
    token.split_once('.')?.0.parse().ok()
}

/// What the token of a session's forms signs.
fn form_of(account: AccountId) -> String {
    format!("form:{account}")
}

fn form_key(session: &str) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, session.as_bytes())
}

/// To a page of the portal, with a sentence for it.
pub(crate) fn go(portal: &Portal, path: &str, said: &str) -> HttpResponse {
    let mut answer = HttpResponse::SeeOther();
    answer.insert_header((LOCATION, format!("{}{path}", crate::PATH)));
    if !said.is_empty() {
        answer.cookie(notice_cookie(portal, said));
    }
    answer.finish()
}

fn notice_cookie(portal: &Portal, said: &str) -> Cookie<'static> {
    let text = utf8_percent_encode(said, NON_ALPHANUMERIC).to_string();
    Cookie::build(NOTICE_COOKIE, text)
        .path(crate::PATH)
        .http_only(true)
        .secure(portal.is_https())
        .same_site(SameSite::Lax)
        .max_age(CookieTime::seconds(60))
        .finish()
}

/// The sentence that the page before left for this one.
fn notice(req: &HttpRequest) -> Option<String> {
    let kept = req.cookie(NOTICE_COOKIE)?;
    let text = percent_encoding::percent_decode_str(kept.value())
        .decode_utf8()
        .ok()?;
    Some(text.into_owned()).filter(|text| !text.is_empty())
}

/// Takes the sentence away once it was shown.
pub(crate) fn forget_notice(answer: &mut HttpResponse) {
    let gone = format!(
        "{NOTICE_COOKIE}=; Path={}; Max-Age=0; HttpOnly; SameSite=Lax",
        crate::PATH
    );
    if let Ok(gone) = HeaderValue::from_str(&gone) {
        answer.headers_mut().append(SET_COOKIE, gone);
    }
}

/// The portal behind a request; there always is one where its routes are.
pub(crate) fn portal_of(req: &HttpRequest) -> Option<Portal> {
    req.app_data::<web::Data<Portal>>()
        .map(|data| Portal::clone(data))
}
