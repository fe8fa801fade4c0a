//! The widget on a third-party page, on its own origin.

pub(super) mod voice;

use std::time::Duration;

use offhook_tests::{
    Account, Browser, Key, Options, Person, Server, Site, both, eventually, needs_browser,
};
use serde_json::{Value, json};

/// A malicious visitor's message.
const SCRIPT: &str = "<img src=x onerror=alert(1)>";

/// An agent that answers in text, with its widget enabled for this origin; returns its id.
async fn agent(account: &Account, origin: &str) -> String {
    let config = json!({
        "system_prompt": "You are Eva.\nsay: We open at nine.\nsay: <b>Until eight.</b>",
        "first_message": "Welcome to Harbour Hotel.",
        "llm": {"provider": "scripted", "model": "scripted"},
    });
    agent_with(account, config, origin).await
}

/// An agent with this configuration, with its widget enabled for this origin; returns its id.
async fn agent_with(account: &Account, config: Value, origin: &str) -> String {
    let agent = account.agent_with(config).await;
    let widget = json!({"enabled": true, "allowed_origins": [origin]});
    let target = format!("/v1/agents/{agent}/widget");
    let set = account.request("PUT", &target).json(widget);
    set.await.assert(200);
    agent
}

/// A page with a strict policy that only allows the widget.
fn page(server: &Server, agent: &str) -> String {
    page_with(server, agent, "")
}

/// As [`page`], with these attributes on the widget.
fn page_with(server: &Server, agent: &str, attributes: &str) -> String {
    let service = format!("http://{}", server.address());
    format!(
        "<!doctype html><html lang=en><head><title>A shop</title><link rel=icon href='data:,'>
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; img-src data:; \
         script-src {service}; connect-src {service} {socket}; media-src blob:; style-src 'self'\">
         </head><body><main><h1>A shop</h1><p>Everything for boats.</p>
         <label>Order number <input name=order></label></main>
         <script src='{service}/widget/v1/offhook.js' data-agent='{agent}' {attributes} data-shadow=open async></script>
         </body></html>",
        socket = service.replace("http", "ws"),
    )
}

both! {
    async fn a_visitor_of_another_site_writes_with_an_agent(database: Database) {
        needs_browser!();
        let (server, account) = Server::furnished(database).await;
        let site = Site::start().await;
        let agent = agent(&account, &site.origin()).await;
        site.shows(page(&server, &agent));

        let browser = Browser::of(Person::english(), server.address()).await;
        browser.open(&site.origin()).await;
        browser.click("Open chat").await;
        browser.sees("Welcome to Harbour Hotel.").await;
        browser.fill("Your message", "When do you open?").await;
        browser.click("Send").await;
        browser.sees("We open at nine.").await;
        browser.screenshot("widget").await;
        browser.axe().await;

        // No message becomes part of the page.
        browser.fill("Your message", SCRIPT).await;
        browser.click("Send").await;
        browser.sees("<b>Until eight.</b>").await;
        browser.sees(SCRIPT).await;
        browser.no_violations().await;

        // The visitor reloads the page: the conversation continues.
        browser.reload().await;
        browser.click("Open chat").await;
        browser.sees("<b>Until eight.</b>").await;
        browser.resize(390, 844).await;
        browser.screenshot("widget-phone").await;
        browser.no_violations().await;

        let conversations = eventually("the conversation", Duration::from_secs(10), || async {
            let page = account.read("/v1/conversations?limit=5").await;
            page["data"].as_array().filter(|all| !all.is_empty()).cloned()
        })
        .await;
        let channels: Vec<&Value> = conversations.iter().map(|one| &one["channel"]).collect();
        assert_eq!(channels, ["widget_chat"]);
    }

    async fn the_widget_looks_as_its_page_says_and_needs_no_mouse(database: Database) {
        needs_browser!();
        let (server, account) = Server::furnished(database).await;
        let site = Site::start().await;
        let agent = agent(&account, &site.origin()).await;
        let dressed = "data-theme=dark data-color='#fc0' data-position=left data-language=es \
                       data-title='Harbour desk' data-label='Ask us'";
        site.shows(page_with(&server, &agent, dressed));

        let browser = Browser::of(Person::english(), server.address()).await;
        browser.open(&site.origin()).await;
        browser.sees("Ask us").await;
        browser.tabs_to("Order number").await;
        let passed = browser.tabs_to("Ask us").await;
        assert_eq!(passed, [""; 0], "the button follows the page");
        browser.presses(&Key::Enter).await;
        browser.sees("Harbour desk").await;
        browser.sees("Welcome to Harbour Hotel.").await;
        assert_eq!(browser.focused().await, "Tu mensaje");
        browser.presses("When do you open?").await;
        browser.presses(&Key::Enter).await;
        browser.sees("We open at nine.").await;
        let looks = "const root = document.querySelector('offhook-widget').shadowRoot;
            const style = (part) => getComputedStyle(root.querySelector(part));
            const box = root.querySelector('.launcher').getBoundingClientRect();
            return [style('.launcher').backgroundColor, style('.launcher').color, style('.panel').backgroundColor,
              style('.panel').color, box.left, style('.said.user').backgroundColor, style('.said.user').color]";
        let black = "rgb(17, 17, 17)";
        let yellow = "rgb(255, 204, 0)";
        assert_eq!(
            browser.js(looks, vec![]).await,
            json!([yellow, black, "rgb(22, 25, 29)", "rgb(240, 243, 246)", 20, yellow, black])
        );
        browser.axe().await;
        browser.screenshot("widget-dressed").await;
        browser.presses(&Key::Escape).await;
        browser.misses("We open at nine.").await;
        assert_eq!(browser.focused().await, "Ask us");
        browser.no_violations().await;
    }

    async fn a_page_reads_that_too_much_is_asked_of_the_service(database: Database) {
        let server = Server::start(Options::on(database).set("limits.page_ip_per_minute", 2)).await;
        let origin = "https://shop.example";
        let allow = "access-control-allow-origin";
        let refused = loop {
            let begin = server.client().post("/widget/v1/sessions", json!({}));
            let answer = begin.header("Origin", origin).await;
            if answer.status == 429 {
                break answer;
            }
            assert_eq!((answer.status, answer.header(allow)), (403, None));
        };
        refused.assert_error(429, "rate_limit_exceeded");
        assert_eq!((refused.header(allow), refused.header("vary")), (Some(origin), Some("Origin")));
    }

    async fn a_site_that_is_not_allowed_gets_no_agent(database: Database) {
        needs_browser!();
        let (server, account) = Server::furnished(database).await;
        let site = Site::start().await;
        let agent = agent(&account, "https://shop.example").await;
        site.shows(page(&server, &agent));

        let browser = Browser::of(Person::english(), server.address()).await;
        browser.open(&site.origin()).await;
        browser.sees("Everything for boats.").await;
        eventually("the refusal", Duration::from_secs(10), || async {
            let log = server.log();
            log.lines().any(|line| line.contains("/widget/") && line.contains("status=403")).then_some(())
        })
        .await;
        assert_eq!(account.read("/v1/conversations").await["data"], json!([]));
    }
}
