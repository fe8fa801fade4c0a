//! Pages of 1,000,000 conversations beside the first page of 10,000, at the store: what HTTP adds would hide the rest.

use offhook_domain::{AccountId, AgentId, Channel, ConversationId, ConversationStatus, Timestamp};
use offhook_storage::{BenchList, ConversationFilter, PageKey, Store};

use super::Bench;
use super::paging::{Measured, Reading, compare};
use crate::database::{Database, Kind};
use crate::report::{Report, Target};
use crate::seed::{self, Bulk, CUSTOMERS};

const MANY: i64 = 1_000_000;
const FEW: i64 = 10_000;

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    for kind in bench.databases() {
        let many = Filled::new(kind, bench, "pages_many", MANY).await?;
        let few = Filled::new(kind, bench, "pages_few", FEW).await?;
        let mut worst: Option<Measured> = None;
        for case in cases() {
            for measured in case.compare(&many, &few).await? {
                eprintln!("  {}: {}", kind.name(), measured.words());
                if worst
                    .as_ref()
                    .is_none_or(|worst| measured.ratio > worst.ratio)
                {
                    worst = Some(measured);
                }
            }
        }
        if let Some(worst) = worst {
            let name = format!(
                "worst page of 1,000,000 / first page of 10,000, {}",
                kind.name()
            );
            report.add(&name, Target::AtMost(1.3), worst.ratio, "", &worst.words());
        }
        many.database.remove().await?;
        few.database.remove().await?;
    }
    Ok(())
}

struct Filled {
    database: Database,
    store: Store,
    account: AccountId,
    agents: [AgentId; 4],
    bulk: Bulk,
}

impl Filled {
    async fn new(kind: Kind, bench: &Bench, name: &str, count: i64) -> anyhow::Result<Self> {
        let database = Database::new(kind, &bench.postgres, name).await?;
        let services = seed::open(&database).await?;
        let tenant = seed::tenants(&services, 1).await?.remove(0);
        let mut agents = [tenant.agent; 4];
        for agent in &mut agents[1..] {
            *agent = seed::agent(&services, tenant.account, "Ben").await?;
        }
        drop(services);
        let bulk = Bulk::new(count);
        bulk.write(&database, tenant.account, [agents[0], agents[1], agents[2]])
            .await?;
        Ok(Self {
            store: database.place.open().await?,
            database,
            account: tenant.account,
            agents,
            bulk,
        })
    }

    fn page(&self, what: &What, deep: bool) -> anyhow::Result<Reading<'_>> {
        let at = |share: f64| {
            Timestamp::from_micros(self.bulk.at_us((self.bulk.count as f64 * share) as i64))
        };
        let filter = ConversationFilter {
            voice_only: what.voice,
            since: what.period.then(|| at(0.05)),
            until: what.period.then(|| at(0.5)),
            agent: what.agent.map(|number| self.agents[number]),
            status: what.status,
            channel: what.channel,
            phone: what.phone.map(str::parse).transpose()?,
        };
        let after: Option<PageKey<ConversationId>> = if deep {
            let number = self.bulk.count / 3;
            let at = Timestamp::from_micros(self.bulk.at_us(number));
            let id = uuid(number)?;
            Some((at, id))
        } else {
            None
        };
        Ok(Reading {
            store: &self.store,
            account: self.account,
            list: BenchList::Conversations(filter, after),
        })
    }
}

fn uuid(number: i64) -> anyhow::Result<ConversationId> {
    let hex = Bulk::id(number);
    let groups = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    let id = groups.join("-").parse();
    id.map_err(|error| anyhow::anyhow!("{error:?}"))
}

/// A filter.
#[derive(Debug, Clone, Copy, Default)]
struct What {
    voice: bool,
    period: bool,
    agent: Option<usize>,
    status: Option<ConversationStatus>,
    channel: Option<Channel>,
    phone: Option<&'static str>,
}

struct Case {
    name: String,
    many: What,
    /// The same filter with a value that fills as much of the page among 10,000.
    few: What,
    /// Whether there are enough matches for a deep page.
    deep: bool,
}

impl Case {
    async fn compare(&self, many: &Filled, few: &Filled) -> anyhow::Result<Vec<Measured>> {
        let deep = self.deep.then(|| many.page(&self.many, true)).transpose()?;
        let (few, first) = (few.page(&self.few, false)?, many.page(&self.many, false)?);
        compare(&self.name, &few, &first, deep.as_ref()).await
    }
}

/// How much of the rows a value matches.
const SHARES: [&str; 4] = ["100 %", "1 %", "0.01 %", "0"];

fn cases() -> Vec<Case> {
    let statuses = [
        ConversationStatus::Completed,
        ConversationStatus::Failed,
        ConversationStatus::Unknown,
    ];
    let channels = [
        Channel::Phone,
        Channel::WidgetVoice,
        Channel::Whatsapp,
        Channel::Chat,
    ];
    let phones = [CUSTOMERS[0], CUSTOMERS[1], CUSTOMERS[2], "+14155550199"];
    let agent = |share| What {
        agent: Some(share),
        ..What::default()
    };
    let channel = |share: usize| What {
        channel: Some(channels[share]),
        ..What::default()
    };
    let phone = |share: usize| What {
        phone: Some(phones[share]),
        ..What::default()
    };
    let both = |agent, status: usize| What {
        agent: Some(agent),
        status: Some(statuses[status]),
        ..What::default()
    };
    let mut cases = Vec::new();
    let mut add = |name: String, share: usize, what: &dyn Fn(usize) -> What| {
        // A ten-thousandth of 10,000 is one row: the hundredth has a full page there too.
        let few = if share == 2 { 1 } else { share };
        cases.push(Case {
            name,
            many: what(share),
            few: what(few),
            deep: share < 3,
        });
    };
    add("no filter".to_owned(), 0, &|_| What::default());
    add("voice".to_owned(), 0, &|_| What {
        voice: true,
        ..What::default()
    });
    for (share, words) in SHARES.iter().enumerate() {
        add(format!("agent {words}"), share, &agent);
        add(format!("channel {words}"), share, &channel);
        add(format!("phone {words}"), share, &phone);
        add(format!("phone {words} + from and to"), share, &|share| {
            What {
                period: true,
                ..phone(share)
            }
        });
        add(format!("agent {words} + from and to"), share, &|share| {
            What {
                period: true,
                ..agent(share)
            }
        });
        // Every status has rows: the last agent has none, whatever the status.
        add(
            format!("agent 100 % + status {words}"),
            share,
            &|share| match share {
                3 => both(3, 0),
                share => both(0, share),
            },
        );
        add(format!("agent {words} + status 100 %"), share, &|share| {
            both(share, 0)
        });
        if share < 3 {
            for period in [false, true] {
                let name = format!(
                    "status {words}{}",
                    if period { " + from and to" } else { "" }
                );
                add(name, share, &|share| What {
                    period,
                    status: Some(statuses[share]),
                    ..What::default()
                });
            }
        }
    }
    add(
        "agent 1 % + status 1 % + from and to, no row in common".to_owned(),
        3,
        &|_| What {
            period: true,
            ..both(1, 1)
        },
    );
    add(
        "agent 1 % + status 1 %, no row in common".to_owned(),
        3,
        &|_| both(1, 1),
    );
    let ours = |_| What {
        phone: Some(offhook_carriers::OURS),
        ..What::default()
    };
    add("phone 50 %, dialed".to_owned(), 0, &ours);
    add("phone 50 %, dialed + from and to".to_owned(), 0, &|_| {
        What {
            period: true,
            ..ours(0)
        }
    });
    cases
}
