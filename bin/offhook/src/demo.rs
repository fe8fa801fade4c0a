//! `offhook demo`: a call from end to end, through the public interface.

mod afterwards;
mod callee;
mod events;
mod voice;

use std::convert::Infallible;

use self::voice::Staging;
use crate::client::Api;
use crate::links;
use crate::prelude::*;
use crate::receiver::{Delivered, Receiver};
use crate::serve::{self, Running};
use crate::signals::Signals;

/// How fast the simulated people are: real life would take a minute, and with `--exit` nobody reads along.
const SPEED: f64 = 1.5;
const SPEED_WITH_EXIT: f64 = 10.0;

/// How long the call and its events may take.
const LIMIT: Duration = Duration::from_secs(90);

/// A number of the range that is kept for fiction; in the simulated network a person answers it.
const CUSTOMER: &str = "+14155550123";

/// Who may sign in to the portal of the demo.
const OWNER: &str = "owner@demo.example";

const FIRST_MESSAGE: &str =
    "Hello {{name}}, this is Eva from Harbour Hotel. Is this a good moment?";
const SYSTEM_PROMPT: &str = "\
You are Eva, the friendly receptionist of Harbour Hotel. You confirm tomorrow's booking of {{name}}.
Be brief, and say goodbye when the customer has no more questions.
say: Lovely. I am calling about your room for tomorrow. Shall we expect you at about six in the evening?
say: Wonderful, I have noted six o'clock. Is there anything else that I can do for you?
say: You are welcome. We look forward to seeing you tomorrow.
say: Goodbye, and have a pleasant journey!";

/// `offhook demo`'s flags.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Exit after the call, with code 0 if all went well.
    #[arg(long)]
    exit: bool,
    /// Require a spoken call over a local SIP trunk, with flite and pocketsphinx [default: if both are installed and --exit
    /// is not given].
    #[arg(long)]
    voice: bool,
    /// Skip speech: run the call as text over the simulated phone network.
    #[arg(long, conflicts_with = "voice")]
    text: bool,
    /// The loopback address to serve on; port 0 picks one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

/// Runs the demo in the data directory of the settings if `keep_data`, else in a temporary one.
pub(crate) async fn run(
    mut settings: Settings,
    args: DemoArgs,
    keep_data: bool,
) -> anyhow::Result<()> {
    ensure!(
        !settings.is_shared(),
        "the demo runs on embedded SQLite: leave `database_url` out"
    );
    let temporary = if keep_data {
        None
    } else {
        Some(tempfile::tempdir()?)
    };
    if let Some(dir) = &temporary {
        settings.data_dir = dir.path().to_owned();
    }
    settings.listen = args.listen;
    // It speaks to itself over loopback, and shows lines to copy.
    settings.http.tls = None;
    settings.webhooks.allow_private_targets = true;
    // Nobody's phone rings for a demo.
    settings.sip = None;
    // Whoever ends a demo does not wait for the end of its calls.
    settings.calls.drain = Duration::ZERO;
    println!("Offhook demo: data in {}", settings.data_dir.display());
    // Whoever stays can hear the call in the portal; who does not wants to know quickly whether all goes well.
    let by_sound = args.voice || (!args.exit && !args.text && voice::find().is_ok());
    let mut staging = if by_sound {
        Some(Staging::prepare(&mut settings).await?)
    } else {
        if let (false, false, Err(missing)) = (args.exit, args.text, voice::find()) {
            println!("  by text   {missing}");
        }
        let speed = if args.exit { SPEED_WITH_EXIT } else { SPEED };
        settings.simulator.speed.get_or_insert(speed);
        None
    };
    println!(
        "  scripted  what both speakers say, and the analysis: no model is asked, and nobody's phone rings"
    );
    let sound = if by_sound { ", sound" } else { "" };
    println!("  real      database, interface, events, signatures, deliveries{sound}");
    settings.check_serving()?;

    let mut signals = Signals::listen()?;
    let running = serve::start(settings).await?;
    let lines = staging.as_ref().map(Staging::lines);
    let shown = tokio::select! {
        shown = Demo::show(&running, lines) => shown,
        Err(fault) = talk(&mut staging) => Err(fault.context("the customer's telephone")),
        () = signals.next() => Err(anyhow::anyhow!("the demo was interrupted")),
    };
    let ended = match shown {
        Ok(demo) if !args.exit => {
            tokio::select! {
                () = demo.go_on(&mut signals) => {}
                never = keep_talking(&mut staging) => match never {},
            }
            Ok(())
        }
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    running.stop(&mut signals).await?;
    ended
}

/// Lets the customer of a spoken demo answer; nobody is there in a written one.
async fn talk(staging: &mut Option<Staging>) -> anyhow::Result<Infallible> {
    match staging {
        Some(staging) => staging.talk().await,
        None => std::future::pending().await,
    }
}

/// As [`talk`], for calls that may go as they like.
async fn keep_talking(staging: &mut Option<Staging>) -> Infallible {
    loop {
        let Err(fault) = talk(staging).await;
        println!("  telephone {fault:#}");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// A demo whose call has ended well.
struct Demo {
    api: Api,
    receiver: Receiver,
    agent_id: String,
    conversation_id: String,
    /// Where the owner sets a password.
    portal: Option<String>,
}

impl Demo {
    /// `lines`: how often the customer of a spoken demo speaks.
    async fn show(running: &Running, lines: Option<usize>) -> anyhow::Result<Self> {
        let base = format!("http://{}", running.address());
        println!("  service   {base}, embedded SQLite");
        let (account, key) = make_key(running).await?;
        if lines.is_some() {
            add_number(running, account).await?;
        }
        let api = Api::new(base, key)?;
        let mut receiver = Receiver::start("127.0.0.1:0".parse()?).await?;
        let config = match lines {
            Some(_) => voice::config(FIRST_MESSAGE),
            None => config(),
        };
        let agent_id = make_agent(&api, config).await?;
        make_webhook(&api, &receiver).await?;

        let body = json!({ "agent_id": agent_id, "to": CUSTOMER, "metadata": { "name": "Ana" } });
        let placed = api.post("/v1/calls", body, "placing the call").await?;
        let handle = text(&placed, "id")?;
        let conversation_id = handle.strip_prefix("call_").unwrap_or(&handle).to_owned();
        println!("  call      {handle} to {CUSTOMER}\n");

        let both = async {
            tokio::try_join!(
                events::follow(&api, &conversation_id),
                receiver.both(show_event)
            )
        };
        let (turns, ()) = timeout(LIMIT, both).await.with_context(|| {
            format!(
                "the call and its two events did not end within {} s",
                LIMIT.as_secs()
            )
        })??;
        // Whoever speaks is answered.
        let least = lines.map_or(2, |lines| 2 * lines);
        ensure!(
            turns >= least,
            "the transcript has {turns} turns instead of {least} or more"
        );
        println!();
        let call = api.get(&format!("/v1/calls/{handle}")).await?;
        afterwards::summarize(&call)?;
        let data = afterwards::analysis(&api, &conversation_id).await?;
        println!("  analysis  {data}");
        if lines.is_some() {
            let path = afterwards::keep_recording(&api, &conversation_id).await?;
            println!(
                "  recording {} (left the customer, right the agent)",
                path.display()
            );
        }
        afterwards::test(&api, &agent_id).await?;
        let email = OWNER.parse()?;
        let (services, of) = (running.services(), (account, &email));
        let portal = links::first_sign_in(services, api.base(), of).await?;
        Ok(Self {
            api,
            receiver,
            agent_id,
            conversation_id,
            portal,
        })
    }

    /// Prints how to go on, and events as they come, until a signal ends the service.
    async fn go_on(mut self, signals: &mut Signals) {
        let base = self.api.base();
        let (agent, conversation) = (&self.agent_id, &self.conversation_id);
        println!("\nThe service goes on; Ctrl-C ends it.");
        match &self.portal {
            Some(url) => {
                println!("\nOpen the portal, and choose a password for {OWNER}:\n\n  {url}")
            }
            None => println!("\nSign in to the portal as {OWNER}:\n\n  {base}/portal/"),
        }
        println!("\nThe key is shown this once:\n");
        println!("  KEY={}", self.api.key());
        println!("  curl -H \"Authorization: Bearer $KEY\" {base}/v1/me");
        println!("  curl -H \"Authorization: Bearer $KEY\" {base}/v1/conversations/{conversation}");
        println!(
            "  curl -H \"Authorization: Bearer $KEY\" -H 'Content-Type: application/json' \\\n    \
             -d '{{\"agent_id\":\"{agent}\",\"to\":\"{CUSTOMER}\",\"metadata\":{{\"name\":\"Ana\"}}}}' {base}/v1/calls"
        );
        println!("  curl -H \"Authorization: Bearer $KEY\" '{base}/v1/calls?limit=5'\n");
        loop {
            tokio::select! {
                Some(delivered) = self.receiver.next() => show_event(&delivered),
                () = signals.next() => return,
            }
        }
    }
}

/// Accounts and keys are the operator's to make: there is no request for them.
async fn make_key(running: &Running) -> anyhow::Result<(AccountId, String)> {
    let services = running.services();
    let account = services
        .accounts()
        .create("Harbour Hotel", Plan::Pro, None, None, Some(OWNER))
        .await?;
    println!("  account   {} ({})", account.id, account.plan);
    let keys = services.keys();
    let (key, token) = keys
        .create(account.id, "demo", Scopes::all(), false, None, None)
        .await?;
    println!("  key       {}…", key.prefix);
    Ok((account.id, token))
}

/// A trunk's calls come from a number.
async fn add_number(running: &Running, account: AccountId) -> anyhow::Result<()> {
    let numbers = running.services().numbers();
    let number = voice::NUMBER.parse()?;
    numbers
        .add(account, number, "Desk", (NumberProvider::Sip, None))
        .await?;
    println!("  number    {}", voice::NUMBER);
    Ok(())
}

fn config() -> Value {
    json!({
        "system_prompt": SYSTEM_PROMPT,
        "first_message": FIRST_MESSAGE,
        "llm": { "provider": "scripted", "model": "scripted" },
        "dynamic_variables": { "name": { "default": "there" } },
    })
}

async fn make_agent(api: &Api, config: Value) -> anyhow::Result<String> {
    let body = json!({ "name": "Eva", "language": "en-US", "config": config });
    let agent = api.post("/v1/agents", body, "making the agent").await?;
    let id = text(&agent, "id")?;
    let publish = format!("/v1/agents/{id}/publish");
    let published = api.post(&publish, json!({}), "publishing the agent");
    let published = published.await?;
    println!(
        "  agent     {id} (Eva, {}, version {} published)",
        text(&published, "status")?,
        published["published_version"]
    );
    let schema = json!({
        "type": "object",
        "properties": {
            "topic": {"type": "string", "maxLength": 80, "description": "What it was about, in a few words"},
            "mood": {"enum": ["pleased", "neutral", "annoyed"]},
        },
        "required": ["topic", "mood"],
    });
    let path = format!("/v1/agents/{id}/analysis-schema");
    let doing = "saying what to extract from its conversations";
    api.put(&path, json!({ "schema": schema }), doing).await?;
    Ok(id)
}

async fn make_webhook(api: &Api, receiver: &Receiver) -> anyhow::Result<()> {
    let body = json!({ "url": receiver.url(), "description": "The demo's receiver" });
    let endpoint = api.post("/v1/webhooks", body, "making the webhook endpoint");
    let endpoint = endpoint.await?;
    let secret = text(&endpoint, "secret")?;
    receiver.trust(secret.parse()?);
    println!(
        "  webhook   {} at {}",
        text(&endpoint, "id")?,
        receiver.url()
    );
    Ok(())
}

fn show_event(delivered: &Delivered) {
    let verdict = match &delivered.verdict {
        Ok(()) => "signature good",
        Err(_) => "SIGNATURE WRONG",
    };
    println!(
        "  event     {} {} ({verdict})",
        delivered.event, delivered.event_id
    );
}

pub(crate) fn text(value: &Value, name: &str) -> anyhow::Result<String> {
    let text = value[name].as_str();
    text.map(str::to_owned)
        .with_context(|| format!("the answer has no `{name}`"))
}
