//! A service with an account whose members can sign in.

use offhook_tests::{Account, Browser, Database, Options, Person, Server, can_browse, must, text};

use super::session::{COOKIE, Session, cookie_of, form};

/// The password of all members.
pub(crate) const PASSWORD: &str = "a long walk along the quay";

/// The owner's e-mail address.
pub(crate) const OWNER: &str = "ana@harbour.example";

/// A server with an account that has an owner.
pub(crate) struct Stage {
    pub(crate) server: Server,
    pub(crate) account: Account,
}

impl Stage {
    pub(crate) async fn open(database: Database) -> Self {
        Self::with(Options::on(database)).await
    }

    /// A stage and a person with a browser; `None`, with a message, if there is no browser.
    pub(crate) async fn seen(database: Database) -> Option<(Self, Person)> {
        if !can_browse() {
            return None;
        }
        let person = Person::on(&database);
        Some((Self::open(database).await, person))
    }

    pub(crate) async fn with(options: Options) -> Self {
        let server = Server::start(options).await;
        let make = ["account", "create", "--name", "Harbour Hotel"];
        let with = ["--plan", "scale", "--credits", "5000"];
        let of = ["--owner-email", OWNER];
        let made = server.cli(&[&make[..], &with, &of].concat()).await;
        let account = server.key(text(&made["id"]), &["--scopes", "all"]).await;
        let stage = Self { server, account };
        stage.welcome(OWNER).await;
        stage
    }

    /// The page of a new one-time link of a member.
    pub(crate) async fn link(&self, email: &str) -> String {
        let make = ["member", "link", "--account", &self.account.id];
        let make = [&make[..], &["--email", email]].concat();
        let made = self.server.cli(&make).await;
        page(text(&made["sign_in_url"])).to_owned()
    }

    /// Sets the password of a member, which signs them in.
    async fn welcome(&self, email: &str) -> Session {
        let page = self.link(email).await;
        let fields = [("new_password", PASSWORD)];
        let answer = form(&self.server.client(), &page, &fields).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        let cookie = cookie_of(&answer);
        Session::of(self.server.client(), cookie).await
    }

    /// The owner, signed in.
    pub(crate) async fn signed_in(&self) -> Session {
        Session::begin(self.server.client(), OWNER, PASSWORD).await
    }

    /// A new signed-in member with this role, whose e-mail address begins with the role.
    pub(crate) async fn member(&self, role: &str) -> Session {
        let email = address(role);
        let add = ["member", "add", "--account", &self.account.id];
        let who = ["--email", &email, "--name", role, "--role", role];
        self.server.cli(&[&add[..], &who].concat()).await;
        self.welcome(&email).await
    }

    /// A browser with this session.
    pub(crate) async fn browser(&self, person: Person, session: &Session) -> Browser {
        let browser = Browser::of(person, self.server.address()).await;
        browser.plant(COOKIE, &session.cookie, "/portal").await;
        browser
    }

    /// A browser with the owner's session.
    pub(crate) async fn owner(&self, person: Person) -> Browser {
        let session = self.signed_in().await;
        self.browser(person, &session).await
    }
}

/// The e-mail address of a member with this role.
pub(crate) fn address(role: &str) -> String {
    format!("{role}@harbour.example")
}

/// The path of one of the portal's pages.
pub(crate) fn page(url: &str) -> &str {
    &url[must("a page of the portal", url.find("/portal/").ok_or(url))..]
}
