//! `offhook doctor`: looks at every hop between a request and a delivered event, and says of each that fails which one it
//! is and what to do.

mod books;
mod call;
mod database;
mod disk;
mod egress;
mod finding;
mod integrations;
mod legacy;
mod models;
mod network;
mod objects;
mod redis;
mod service;
mod speech;
mod trunk;
mod twilio;
mod upstream;
mod voices;
mod whatsapp;

use offhook_services::{Services, SystemClock};
use offhook_storage::Store;
pub(crate) use service::ask;

use self::finding::{Finding, Hop, State};
use crate::prelude::*;
use crate::settings::Flags;
use crate::telephone;

const CONFIGURATION: Hop = Hop("configuration");

/// `offhook doctor`'s flags.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Also check outgoing requests: an https URL to request through the egress guard.
    #[arg(long, value_name = "URL")]
    egress: Option<String>,
    /// Look at the books of the accounts alone; with --json one object, its `faults` a list of sentences.
    #[arg(long, conflicts_with = "egress")]
    books: bool,
    /// Print one JSON array.
    #[arg(long)]
    json: bool,
}

/// Looks at everything and prints what was found.
pub(crate) async fn run(flags: Flags, args: DoctorArgs) -> anyhow::Result<()> {
    if args.books {
        return books::alone(&Settings::load(flags)?, args.json).await;
    }
    let findings = match Settings::load(flags) {
        Ok(settings) => look(settings, &args).await,
        Err(error) => vec![CONFIGURATION.failed(error.to_string())],
    };
    let values: Vec<Value> = findings.iter().map(Finding::json).collect();
    let lines: Vec<String> = findings.iter().map(Finding::words).collect();
    output::print(args.json, &Value::Array(values), &lines.join("\n"))?;
    let failed = findings.iter().filter(|one| one.state == State::Failed);
    match failed.count() {
        0 => Ok(()),
        1 => anyhow::bail!("1 fault was found"),
        count => anyhow::bail!("{count} faults were found"),
    }
}

/// The use cases, with nobody to call.
async fn services(settings: &Settings, store: Store) -> anyhow::Result<Services> {
    let network = telephone::unplugged(settings)?;
    parts::services(settings, store, parts::new_node(), network).await
}

/// Services of others that calls, documents and lists depend on; those that are configured.
async fn upstreams(settings: &Settings) -> Vec<Finding> {
    let (models, vectors, speech, voices, traces) = tokio::join!(
        models::look(settings),
        models::vectors(settings),
        speech::look(settings),
        voices::look(settings),
        network::collector(settings),
    );
    let mut findings = models;
    findings.extend(vectors);
    findings.extend(speech);
    findings.extend(voices);
    findings.extend(traces);
    findings
}

async fn look(settings: Settings, args: &DoctorArgs) -> Vec<Finding> {
    let mut configuration = match settings.check_serving() {
        Ok(()) => CONFIGURATION.good("every setting is known and may be so"),
        Err(error) => CONFIGURATION.failed(error.to_string()),
    };
    let mut findings = Vec::from_iter(service::look(&settings).await);
    let objects = objects::look(&settings).await;
    let mut counting = Vec::new();
    match database::open(&settings).await {
        Ok(store) => {
            findings.extend(database::look(&store).await);
            // What cannot be read is said of the database already.
            let names = store.redis_of_living_nodes(SystemClock.now()).await;
            counting = names.unwrap_or_default();
            match services(&settings, store).await {
                Ok(services) => {
                    findings.extend(books::look(&services).await);
                    findings.push(books::retention(&services).await);
                }
                Err(error) => {
                    // The store of files is a part of the service, and has been told of.
                    if objects.state != State::Failed {
                        configuration = CONFIGURATION.failed(format!("{error:#}"));
                    }
                    let away = "the service cannot be put together with these settings";
                    findings.push(Hop("ledger").skipped(away));
                }
            }
        }
        Err(finding) => {
            findings.push(finding);
            let away = "the database cannot be opened";
            findings.push(Hop("clock").skipped(away));
            findings.push(Hop("ledger").skipped(away));
        }
    }
    findings.push(redis::look(&settings, &counting).await);
    findings.push(objects);
    findings.push(disk::look(&settings));
    findings.extend(upstreams(&settings).await);
    match (&settings.sip, &settings.twilio) {
        (Some(sip), _) => findings.extend(trunk::look(&settings, sip).await),
        (_, Some(twilio)) => findings.push(twilio::look(twilio).await),
        (None, None) => findings.push(network::carrier(&settings).await),
    }
    findings.extend(legacy::look(&settings).await);
    findings.extend(integrations::look(&settings).await);
    findings.push(egress::look(&settings, args.egress.as_deref()).await);
    if let Some(settings) = &settings.whatsapp {
        findings.push(whatsapp::look(settings).await);
    }
    findings.push(call::look().await);
    findings.insert(0, configuration);
    findings
}
