//! Single sign-on with a real OpenID provider: npm's `oidc-provider` (tests/identity).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use offhook_tests::{Address, Client, Database, has_program, must, within};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout};
use url::Url;

use crate::portal::session::{Session, cookie_of, set_cookie};
use crate::portal::stage::{OWNER, Stage};

const CLIENT: &str = "offhook";
const SECRET: &str = "the client's s3cret: a long one";

/// The longest that a package of npm may take to come.
const INSTALLS: Duration = Duration::from_secs(120);
const STARTS: Duration = Duration::from_secs(30);

/// The provider's folder with its packages, in the versions of its lock file.
fn installed() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("../target/identity");
    must("target/identity", std::fs::create_dir_all(&folder));
    let lock = must(
        "a lock file",
        std::fs::read(root.join("identity/package-lock.json")),
    );
    let done = folder.join("installed.json");
    if std::fs::read(&done).ok().as_ref() != Some(&lock) {
        for name in ["package.json", "package-lock.json"] {
            must(
                name,
                std::fs::copy(root.join("identity").join(name), folder.join(name)),
            );
        }
        let install = ["ci", "--no-audit", "--no-fund", "--ignore-scripts"];
        let ran = Command::new("npm")
            .args(install)
            .current_dir(&folder)
            .output();
        let ran = must("npm", ran);
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        must("a mark", std::fs::write(done, lock));
    }
    let program = "provider.mjs";
    must(
        program,
        std::fs::copy(root.join("identity").join(program), folder.join(program)),
    );
    folder
}

/// Its process, and what it prints: one that nobody reads would end it.
type Provider = (Child, Lines<BufReader<ChildStdout>>);

/// Starts the provider; returns its issuer.
async fn provider(redirect_uri: &str, email: &str) -> (Provider, String) {
    let folder = tokio::task::spawn_blocking(installed);
    let folder = must("it installs", within("npm", INSTALLS, folder).await);
    let mut provider = tokio::process::Command::new("node");
    provider.args(["provider.mjs", CLIENT, SECRET, redirect_uri, email]);
    provider.current_dir(folder).kill_on_drop(true);
    provider.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut provider = must("node", provider.spawn());
    let stdout = must("its output", provider.stdout.take().ok_or("none"));
    let mut lines = BufReader::new(stdout).lines();
    let issuer = within("the issuer", STARTS, lines.next_line()).await;
    let issuer = must("a line", must("its output", issuer).ok_or("none"));
    ((provider, lines), issuer)
}

/// Follows the redirects of the provider, as a browser with its cookies, up to the one that leaves it.
async fn signed_in_at_provider(start: &str) -> Url {
    let mut url = must("a URL", Url::parse(start));
    let origin = url.origin();
    let at = must("an address", url.authority().parse());
    let provider = Client::new(Address::new(at));
    let mut cookies: Vec<(String, String)> = Vec::new();
    while url.origin() == origin {
        let jar: Vec<String> = cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let path = &url[url::Position::BeforePath..];
        let asked = provider.get(path).header("Cookie", jar.join("; "));
        let answer = asked.header("X-Forwarded-Host", url.authority()).await;
        for (_, line) in answer
            .headers
            .iter()
            .filter(|(name, _)| name == "set-cookie")
        {
            let pair = line.split(';').next().and_then(|pair| pair.split_once('='));
            let (name, value) = must("a cookie", pair.ok_or(line));
            cookies.retain(|(known, _)| known != name);
            cookies.push((name.to_owned(), value.to_owned()));
        }
        let to = must("a redirect", answer.header("location").ok_or(&answer));
        url = must("a URL", url.join(to));
    }
    url
}

#[tokio::test]
async fn a_real_provider_signs_the_owner_in() {
    if !has_program("npm", "npm") || !has_program("node", "nodejs") {
        return;
    }
    let stage = Stage::open(Database::Sqlite).await;
    let client = stage.server.client();
    let owner = stage.signed_in().await;
    let page = format!("/portal/sso/{}", stage.account.id);
    let redirect_uri = format!("http://{}{page}/callback", stage.server.address());
    let (_provider, issuer) = provider(&redirect_uri, OWNER).await;
    let fields = [
        ("issuer", issuer.as_str()),
        ("client_id", CLIENT),
        ("client_secret", SECRET),
    ];
    let set = owner.post("/portal/settings/single-sign-on", &fields).await;
    assert_eq!(set.status, 303, "{}", set.text());

    let begun = client.get(&page).await;
    let cookie = must("a cookie", set_cookie(&begun, "offhook_sso").ok_or(&begun));
    let text = begun.text();
    let link = text
        .split_once(&format!("href=\"{issuer}"))
        .and_then(|(_, rest)| rest.split_once('"'));
    let (link, _) = must("a link", link.ok_or(&text));
    let start = format!("{issuer}{}", link.replace("&amp;", "&"));
    let back = signed_in_at_provider(&start).await;
    let target = &back[url::Position::BeforePath..];
    let done = client
        .get(target)
        .header("Cookie", format!("offhook_sso={cookie}"))
        .await;
    assert_eq!(done.status, 303, "{}", done.text());
    let session = Session::of(client.clone(), cookie_of(&done)).await;
    let profile = session.get("/portal/profile").await.text();
    assert!(profile.contains(OWNER), "{profile}");
    // Its code was used up.
    let again = client
        .get(target)
        .header("Cookie", format!("offhook_sso={cookie}"))
        .await;
    assert_eq!(again.status, 502, "{}", again.text());
}
