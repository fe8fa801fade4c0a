//! Who asks for what: a page, or a form that was sent. The required role is part of the type.

mod forms;
mod guest;
pub(crate) mod layout;
pub(crate) mod navigation;
mod notice;
pub(crate) mod upload;

use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::Deref;
use std::str::FromStr;

use actix_web::http::header::{HOST, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{self, Payload};
use actix_web::{HttpRequest, HttpResponse};
use offhook_services::store::mint;
use offhook_services::{Caller, PageRequest, Person, Services, Zone};
use url::{Host, Url};
use uuid::Uuid;

use crate::parts::words::show_in;
use crate::prelude::*;
use crate::theme::Theme;
use crate::trouble::{Earlier, Typed};
use crate::{Portal, PortalConfig};

use layout::{Frame, Section};

pub(crate) use forms::{
    TOKEN_FIELD, account_named, button, check_origin, form, read_form, read_form_of, room, token_of,
};
pub(crate) use guest::Guest;
pub(crate) use notice::{forget_notice, go};

/// The path that signs out, after `/portal`.
pub(crate) const SIGN_OUT: &str = "/sign-out";

/// The cookie that holds a session's token.
pub(crate) const SESSION_COOKIE: &str = "offhook_session";

/// Rows of a page of a list.
const PAGE_ROWS: u32 = 25;

/// The role that a page requires.
pub(crate) trait Needs: 'static {
    /// The lowest role allowed.
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
    /// Every member.
    Viewer;
    /// Members who build.
    Developer;
    /// Members who run the account. What only an owner may do depends on the change, and the use case decides it.
    Admin;
}

/// A signed-in visitor and the request.
pub(crate) struct Visitor {
    pub(crate) person: Person,
    pub(crate) portal: Portal,
    pub(crate) lang: Lang,
    req: HttpRequest,
    /// The session's token.
    session: String,
    query: Fields,
}

/// A page for a visitor whose role reaches `R`.
pub(crate) struct Visit<R = Viewer>(Visitor, PhantomData<R>);

/// A form with a valid token, from a visitor whose role reaches `R`.
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
    pub(crate) async fn read(portal: Portal, req: HttpRequest) -> Result<Self> {
        let visitor = Visitor::read(portal, req).await?;
        let visitor = visitor.ok_or(Trouble::SignedOut { typed: None })?;
        visitor.check_role(R::ROLE)?;
        Ok(Self(visitor, PhantomData))
    }
}

impl<R: Needs> Post<R> {
    pub(crate) async fn read(portal: Portal, req: HttpRequest, body: Payload) -> Result<Self> {
        check_origin(&req)?;
        let visitor = Visitor::read(portal, req.clone()).await?;
        let account = visitor.as_ref().map(Visitor::account);
        let typed = Typed {
            path: req.path().to_owned(),
            fields: read_form(&req, body, account).await?,
            has_file: false,
        };
        let Some(visitor) = visitor else {
            return Err(Trouble::SignedOut { typed: Some(typed) });
        };
        let token = typed.fields.raw(TOKEN_FIELD);
        if !visitor.owns_token(token) {
            if !visitor.drew_before(token) {
                return Err(Trouble::Forged);
            }
            // Signing out needs no current token.
            if typed.path.strip_prefix(crate::PATH) != Some(SIGN_OUT) {
                return Err(visitor.earlier(typed));
            }
        }
        visitor.check_role(R::ROLE)?;
        Ok(Self {
            visitor,
            fields: typed.fields,
            role: PhantomData,
        })
    }
}

impl<R: Needs> Upload<R> {
    pub(crate) async fn read(portal: Portal, req: HttpRequest, body: Payload) -> Result<Self> {
        check_origin(&req)?;
        let Some(visitor) = Visitor::read(portal, req.clone()).await? else {
            let typed = typed_with_file(&req, body, None).await?;
            return Err(Trouble::SignedOut { typed: Some(typed) });
        };
        let token = visitor.query.raw(TOKEN_FIELD);
        if !visitor.owns_token(token) {
            if !visitor.drew_before(token) {
                return Err(Trouble::Forged);
            }
            let account = Some(visitor.account());
            let typed = typed_with_file(&req, body, account).await?;
            return Err(visitor.earlier(typed));
        }
        visitor.check_role(R::ROLE)?;
        Ok(Self {
            visitor,
            body,
            role: PhantomData,
        })
    }
}

/// The fields of a form with a file; the token is in its query.
async fn typed_with_file(
    req: &HttpRequest,
    body: Payload,
    account: Option<AccountId>,
) -> Result<Typed> {
    let mut fields = upload::before_the_file(req, body, account).await?;
    let query = Fields::parse(req.query_string().as_bytes());
    fields.push(TOKEN_FIELD, query.raw(TOKEN_FIELD));
    Ok(Typed {
        path: req.path().to_owned(),
        fields,
        has_file: true,
    })
}

impl Visitor {
    /// The visitor of the session's cookie; `None` if not signed in.
    async fn read(portal: Portal, req: HttpRequest) -> Result<Option<Self>> {
        let Some(session) = req.cookie(SESSION_COOKIE) else {
            return Ok(None);
        };
        let session = session.value().to_owned();
        let people = portal.services.people();
        // Polling by a part of the page, not by the visitor.
        let by_itself = req.method() == Method::GET && req.headers().contains_key("hx-request");
        let person = match by_itself {
            true => people.glance(&session).await?,
            false => people.who(&session).await?,
        };
        let Some(person) = person else {
            return Ok(None);
        };
        show_in(&person.zone);
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

    fn check_role(&self, needed: MemberRole) -> Result<()> {
        match self.may(needed) {
            true => Ok(()),
            false => Err(Trouble::Role(needed)),
        }
    }

    /// Whether the member's role reaches `needed`.
    pub(crate) fn may(&self, needed: MemberRole) -> bool {
        self.person.member.role.may(needed)
    }

    /// The use cases.
    pub(crate) fn services(&self) -> &Services {
        &self.portal.services
    }

    /// The current account.
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

    /// A text in it.
    pub(crate) const fn t<'a>(&self, en: &'a str, es: &'a str) -> &'a str {
        self.lang.t(en, es)
    }

    /// The present.
    pub(crate) fn now(&self) -> Timestamp {
        self.portal.services.clock().now()
    }

    /// The zone in which the account reads times.
    pub(crate) const fn zone(&self) -> &Zone {
        &self.person.zone
    }

    /// An id for use cases that need a request's id.
    pub(crate) fn request_id(&self) -> RequestId {
        mint(self.now())
    }

    /// The session's token, for changes to the session itself.
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

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
    pub(crate) fn id<T: FromStr>(&self, name: &str) -> Result<T> {
        self.param(name).parse().map_err(|_| Trouble::not_found())
    }

    /// The query: filters of lists.
    pub(crate) const fn query(&self) -> &Fields {
        &self.query
    }

    /// The page of a list that the query asks for (`after=<micros>_<uuid>`, as [`Visitor::link_behind`] writes it);
    /// otherwise the first page.
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

    /// A link to the next rows of the same list, with the same filters.
    pub(crate) fn link_behind(&self, at: Timestamp, id: Uuid) -> String {
        self.link_with("after", &format!("{}_{id}", at.micros()))
    }

    /// A link to this page with one field of the query set to `value`.
    pub(crate) fn link_with(&self, name: &str, value: &str) -> String {
        let mut fields = self.query.without(name);
        fields.push(name, value);
        format!("{}?{}", self.req.path(), fields.encode())
    }

    /// A link to the beginning of this list, with the same filters.
    pub(crate) fn link_to_beginning(&self) -> String {
        let filters = self.query.without("after").encode();
        format!("{}?{filters}", self.req.path())
    }

    /// The token for forms of this session: a digest of the session's own, so that a page never holds that.
    pub(crate) fn form_token(&self) -> String {
        token_of(&self.session, self.account())
    }

    pub(crate) fn owns_token(&self, token: &str) -> bool {
        forms::is_token_of(&self.session, self.account(), token)
    }

    /// Whether a form may come from a page of this account that was opened before this session: the token names the account,
    /// and the browser says that the form is from a page of the portal.
    fn drew_before(&self, token: &str) -> bool {
        account_named(token) == Some(self.account()) && forms::is_of_our_page(&self.req)
    }

    /// A form of an earlier session, with what is needed to send it in this one.
    fn earlier(&self, typed: Typed) -> Trouble {
        Trouble::Earlier(Box::new(Earlier {
            typed,
            token: self.form_token(),
            account: self.person.caller.account.name.clone(),
        }))
    }

    /// The service's own address for the reader's code: the configured one. Without one, visitors can only sign in from this
    /// machine: then the name by which they reach it, and no other name from the request.
    pub(crate) fn base_url(&self) -> String {
        url_of(&self.portal, &self.req)
    }

    /// The frame of every page.
    pub(crate) fn frame(&self, section: Section) -> Frame<'_> {
        Frame {
            lang: self.lang,
            section: Some(section),
            tab: None,
            visitor: Some(self),
            notice: notice::notice(&self.req),
            theme: Theme::of(&self.req),
            // The response to a form has no address to return to.
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

    /// A page with a refused form: 422.
    pub(crate) fn refused(&self, section: Section, title: &str, body: &Markup) -> HttpResponse {
        let frame = self.frame(section);
        layout::page(&frame, StatusCode::UNPROCESSABLE_ENTITY, title, body)
    }

    /// A part of a page, for htmx.
    pub(crate) fn part(&self, body: &Markup) -> HttpResponse {
        layout::part(body)
    }

    /// A part that changes by itself. The query's `was` is the status that the page shows: if it has changed, the whole page
    /// is reloaded, since the actions differ.
    pub(crate) fn live_part(&self, status: &str, body: &Markup) -> HttpResponse {
        let mut answer = self.part(body);
        if self.query.text("was") != status {
            let reload = HeaderName::from_static("hx-refresh");
            let yes = HeaderValue::from_static("true");
            answer.headers_mut().insert(reload, yes);
        }
        answer
    }

    /// Redirects to another page of the portal, with a notice. `path` begins after `/portal`.
    pub(crate) fn go(&self, path: &str, message: &str) -> HttpResponse {
        go(&self.portal, path, message)
    }

    /// As [`Visitor::go`], with an audit log entry: `action` such as `agent.publish`, `target` an id.
    pub(crate) async fn done(
        &self,
        action: &str,
        target: impl Display,
        path: &str,
        message: &str,
    ) -> Answer {
        self.note(action, target).await;
        Ok(self.go(path, message))
    }

    /// The same with what has changed.
    pub(crate) async fn done_change(
        &self,
        (action, target): (&str, impl Display),
        changes: Changes,
        path: &str,
        message: &str,
    ) -> Answer {
        self.note_change(action, target, changes).await;
        Ok(self.go(path, message))
    }

    /// The same for a change that an earlier submission of the form may have made.
    pub(crate) async fn done_once(
        &self,
        action: &str,
        target: impl Display,
        path: &str,
        message: &str,
    ) -> Answer {
        let people = self.services().people();
        let target = target.to_string();
        people.note_once(&self.person, action, &target).await;
        Ok(self.go(path, message))
    }

    /// Writes a change to the audit log.
    pub(crate) async fn note(&self, action: &str, target: impl Display) {
        self.note_change(action, target, Changes::default()).await;
    }

    /// The same with what has changed.
    pub(crate) async fn note_change(&self, action: &str, target: impl Display, changes: Changes) {
        let people = self.services().people();
        let target = target.to_string();
        people.note(&self.person, action, &target, changes).await;
    }

    /// Describes an error of a form with the form's labels for its fields.
    pub(crate) fn message_of(
        &self,
        error: impl Into<Trouble>,
        labels: &[(&str, &str)],
    ) -> Result<String> {
        error.into().of_form(self.lang, labels)
    }
}

/// The beginning of a list.
pub(crate) const fn first<Id>(limit: u32) -> PageRequest<Id> {
    PageRequest { after: None, limit }
}

/// The visitor for an error page; `None` if not signed in, for a part of a page, or if the store does not respond.
pub(crate) async fn looking(portal: Portal, req: HttpRequest) -> Option<Visitor> {
    if req.headers().contains_key("hx-request") {
        return None;
    }
    Visitor::read(portal, req).await.ok().flatten()
}

/// The request's portal; its routes always have one.
pub(crate) fn portal_of(req: &HttpRequest) -> Option<Portal> {
    req.app_data::<web::Data<Portal>>()
        .map(|data| Portal::clone(data))
}

/// As [`Visitor::base_url`], for visitors who are not signed in.
pub(crate) fn portal_url(guest: &Guest) -> String {
    url_of(&guest.portal, &guest.req)
}

fn url_of(portal: &Portal, req: &HttpRequest) -> String {
    let named = req.headers().get(HOST);
    base_url(&portal.config, named.and_then(|host| host.to_str().ok()))
}

/// The address to show, for a request with this `Host`.
fn base_url(config: &PortalConfig, host: Option<&str>) -> String {
    if let Some(url) = &config.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let scheme = config.origin.split(':').next().unwrap_or_default();
    match host.filter(|host| is_this_machine(scheme, host)) {
        Some(host) => format!("{scheme}://{host}"),
        None => config.origin.clone(),
    }
}

/// Whether a `Host` names only this machine.
fn is_this_machine(scheme: &str, host: &str) -> bool {
    let Ok(url) = Url::parse(&format!("{scheme}://{host}")) else {
        return false;
    };
    let is_itself = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let is_bare = url.origin().ascii_serialization() == format!("{scheme}://{host}");
    is_itself && is_bare
}

#[cfg(test)]
mod tests {
    use super::{base_url, is_this_machine};
    use crate::PortalConfig;

    #[test]
    fn the_address_that_readers_are_told_is_the_public_one_or_the_one_that_is_served() {
        let mut config = PortalConfig {
            public_url: None,
            origin: "https://127.0.0.1:8443".to_owned(),
        };
        for (host, url) in [
            (Some("localhost:9000"), "https://localhost:9000"),
            (Some("mybox:8443"), "https://127.0.0.1:8443"),
            (None, "https://127.0.0.1:8443"),
        ] {
            assert_eq!(base_url(&config, host), url, "{host:?}");
        }
        config.public_url = Some("https://voice.example.com/".to_owned());
        assert_eq!(
            base_url(&config, Some("localhost:9000")),
            "https://voice.example.com"
        );
    }

    #[test]
    fn a_host_is_believed_where_it_names_this_machine_and_nothing_else() {
        for host in [
            "localhost",
            "localhost:8080",
            "127.0.0.1:9000",
            "127.4.5.6",
            "[::1]:8080",
        ] {
            assert!(is_this_machine("http", host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "user@localhost",
            "localhost/evil",
            "localhost:8080/?x=",
            "10.0.0.1:8080",
            "0.0.0.0:8080",
            "",
            "localhost:99999",
        ] {
            assert!(!is_this_machine("http", host), "{host}");
        }
    }
}
