//! The widget on somebody else's page, on an origin of its own.

mod voice;

use std::time::Duration;

use offhook_tests::{
    Account, Browser, Options, Person, Server, Site, both, eventually, needs_browser,
};
use serde_json::{Value, json};

/// What a visitor writes who means harm.
const SCRIPT: &str = "<img src=x onerror=alert(1)>";

/// An agent that answers in writing, with its widget on for this origin; returns its id.
async fn agent(account: &Account, origin: &str) -> String {
    let config = json!({
        "system_prompt": "You are Eva.\nsay: We open at nine.\nsay: <b>Until eight.</b>",
        "first_message": "Welcome to Harbour Hotel.",
        "llm": {"provider": "scripted", "model": "scripted"},
    });
    agent_with(account, config, origin).await
}

/// An agent of this configuration, with its widget on for this origin; returns its id.
async fn agent_with(account: &Account, config: Value, origin: &str) -> String {
    let agent = account.agent_with(config).await;
    let widget = json!({"enabled": true, "allowed_origins": [origin]});
    let target = format!("/v1/agents/{agent}/widget");
    let set = account.request("PUT", &target).json(widget);
    set.send().await.assert(200);
    agent
}

/// A page of a careful owner: its policy allows the widget and nothing else.
fn page(server: &Server, agent: &str) -> String {
    let service = format!("http://{}", server.address());
    format!(
        "<!doctype html><html lang=en><head><title>A shop</title><link rel=icon href='data:,'>
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; img-src data:; \
         script-src {service}; connect-src {service} {socket}; media-src blob:; style-src 'self'\">
         </head><body><main><h1>A shop</h1><p>Everything for boats.</p>
         <label>Order number <input name=order></label></main>
         <script src='{service}/widget/v1/offhook.js' data-agent='{agent}' data-shadow=open async></script>
         </body></html>",
        socket = service.replace("http", "ws"),
    )
}

both! {
    async fn a_visitor_of_another_site_writes_with_an_agent(database: Database) {
        needs_browser!();
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
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

        // Nothing that anybody says becomes part of the page.
        browser.fill("Your message", SCRIPT).await;
        browser.click("Send").await;
        browser.sees("<b>Until eight.</b>").await;
        browser.sees(SCRIPT).await;
        browser.no_violations().await;

        // The visitor turns the page: the conversation goes on.
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

    async fn a_page_reads_that_too_much_is_asked_of_the_service(database: Database) {
        let server = Server::start(Options::on(database).set("limits.ip_per_minute", 2)).await;
        let origin = "https://shop.example";
        let allow = "access-control-allow-origin";
        let refused = loop {
            let begin = server.client().post("/widget/v1/sessions", json!({}));
            let answer = begin.header("Origin", origin).send().await;
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
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
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
