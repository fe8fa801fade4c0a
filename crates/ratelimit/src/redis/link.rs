//! The connection: made in the background, shared by all checks, given up when the server does not answer.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use redis::aio::{MultiplexedConnection, SendError};
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, FromRedisValue, IntoConnectionInfo as _,
    ProtocolVersion, PushInfo, PushKind, RedisError, RedisResult, ServerErrorKind, Value,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::scripts::{SERVER, Script, TEST_BUCKET};
use crate::MAX_PER_MINUTE;
use crate::answer::Unavailable;
use crate::gcra::Quota;

/// How long a check may last, including the wait for a new connection.
#[cfg(not(test))]
const LIMIT: Duration = Duration::from_millis(100);
/// The unit tests may run on busy machines; the tests in `tests/it` check the real limit.
#[cfg(test)]
const LIMIT: Duration = Duration::from_secs(10);

/// After this many failures in a row, the connection is given up.
const FAILURES: u32 = 5;

/// How long a connection may take to open and answer for the first time, and the pause before the next attempt.
/// Together they are well below the second within which the store must notice Redis's return.
#[cfg(not(test))]
const CONNECT_LIMIT: Duration = Duration::from_millis(500);
#[cfg(test)]
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

/// How often the connection is probed, and how often after a failure.
const HEARTBEAT: Duration = Duration::from_secs(1);
const DOUBTFUL_HEARTBEAT: Duration = Duration::from_millis(100);

/// Checks that may wait to be written.
const PIPELINE: usize = 1024;

/// A client of the server that `url` names.
pub(super) fn client(url: &str) -> Result<Client, String> {
    // The library's messages name the fault of the URL without repeating it.
    let said = |error: RedisError| error.to_string();
    let info = url.into_connection_info().map_err(said)?;
    // RESP3 reports a lost connection at once. Small commands must not wait for more.
    let settings = info.redis_settings().clone();
    let info = info
        .set_redis_settings(settings.set_protocol(ProtocolVersion::RESP3))
        .set_tcp_settings(TcpSettings::default().set_nodelay(true));
    Client::open(info).map_err(said)
}

/// The connection to one server.
pub(super) struct Link {
    shared: Arc<Shared>,
    keeper: JoinHandle<()>,
}

struct Shared {
    client: Client,
    clock: &'static str,
    state: watch::Sender<State>,
    /// The server's name; `None` while it is unreachable.
    name: watch::Sender<Option<Arc<str>>>,
    /// Whether the log already says that the server is unreachable.
    logged: AtomicBool,
}

#[derive(Clone)]
enum State {
    /// Connecting, without a failure so far: checks wait.
    Connecting,
    Up(Arc<Connected>),
    /// Unreachable: checks fail at once.
    Down,
}

struct Connected {
    /// The connection's number: results of an earlier connection say nothing about this one.
    number: u64,
    connection: MultiplexedConnection,
    /// Failures since the last answer.
    failures: AtomicU32,
    /// The digests of the scripts on the server.
    digests: [String; Script::ALL.len()],
    clock: &'static str,
}

impl Link {
    /// Connects and stays connected until this is dropped.
    pub(super) fn connect(client: Client, clock: &'static str) -> Self {
        let shared = Arc::new(Shared {
            client,
            clock,
            state: watch::Sender::new(State::Connecting),
            name: watch::Sender::new(None),
            logged: AtomicBool::new(false),
        });
        Self {
            keeper: tokio::spawn(keep(shared.clone())),
            shared,
        }
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(*self.shared.state.borrow(), State::Up(_))
    }

    pub(super) fn is_down(&self) -> bool {
        matches!(*self.shared.state.borrow(), State::Down)
    }

    pub(super) fn name(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.shared.name.subscribe()
    }

    /// Runs a script.
    pub(super) async fn run<T: FromRedisValue>(
        &self,
        script: Script,
        keys: &[&str],
        numbers: &[i64],
    ) -> Result<T, Unavailable> {
        let deadline = Instant::now() + LIMIT;
        let connected = self.shared.connected(deadline).await.ok_or(Unavailable)?;
        let asked = connected.run(script, keys, numbers);
        let answered = timeout_at(deadline, asked).await;
        self.shared
            .judge(&connected, answered.ok())
            .ok_or(Unavailable)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl Shared {
    /// The connection, as soon as there is one.
    async fn connected(&self, deadline: Instant) -> Option<Arc<Connected>> {
        let state = self.state.borrow().clone();
        match state {
            State::Up(connected) => return Some(connected),
            State::Down => return None,
            State::Connecting => {}
        }
        let mut state = self.state.subscribe();
        let decided = state.wait_for(|state| !matches!(state, State::Connecting));
        match timeout_at(deadline, decided).await.ok()?.ok()?.clone() {
            State::Up(connected) => Some(connected),
            State::Connecting | State::Down => None,
        }
    }

    /// Counts the result of a query; `None` means no answer in time.
    fn judge<T>(&self, connected: &Connected, answered: Option<RedisResult<T>>) -> Option<T> {
        let (lost, why) = match answered {
            Some(Ok(answer)) => {
                if connected.failures.load(Ordering::Relaxed) > 0 {
                    connected.failures.store(0, Ordering::Relaxed);
                }
                return Some(answer);
            }
            Some(Err(error)) => (is_lost(&error), error.to_string()),
            None => (false, "no answer within 100 ms".to_owned()),
        };
        let failures = connected.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if failures >= FAILURES {
            if self.leave(connected.number, State::Down) {
                self.log_outage(&why);
            }
        } else if lost {
            self.leave(connected.number, State::Connecting);
        }
        None
    }

    /// Gives up connection `number`; returns whether it was still the current one.
    fn leave(&self, number: u64, state: State) -> bool {
        self.state.send_if_modified(|current| {
            let is_it = matches!(current, State::Up(connected) if connected.number == number);
            if is_it {
                *current = state;
            }
            is_it
        })
    }

    /// Notes the server's name.
    fn named(&self, name: Option<Arc<str>>) {
        self.name.send_if_modified(|known| {
            let is_new = *known != name;
            *known = name;
            is_new
        });
    }

    fn up(&self, connected: Arc<Connected>) {
        self.state.send_replace(State::Up(connected));
        if self.logged.swap(false, Ordering::Relaxed) {
            tracing::info!("Redis answers again: requests are counted and served");
        }
    }

    fn down(&self, why: &str) {
        self.state.send_replace(State::Down);
        self.log_outage(why);
    }

    /// Logs once per outage.
    fn log_outage(&self, why: &str) {
        if !self.logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                why,
                "Redis is out of reach: requests cannot be counted and are refused until it is back"
            );
        }
    }
}

fn is_lost(error: &RedisError) -> bool {
    error.is_io_error() || error.is_connection_dropped() || error.is_unrecoverable_error()
}

/// Reconnects whenever there is no connection.
async fn keep(shared: Arc<Shared>) {
    let mut is_advised = false;
    let mut name = new_name();
    for number in 1.. {
        match timeout(CONNECT_LIMIT, Connected::open(&shared, number)).await {
            Ok(Ok(connected)) => {
                let connected = Arc::new(connected);
                shared.up(connected.clone());
                if !is_advised {
                    is_advised = connected.advise().await;
                }
                watch_over(&shared, &connected, &mut name).await;
                shared.named(None);
                continue;
            }
            Ok(Err(error)) => shared.down(&error.to_string()),
            Err(_) => shared.down("no connection within 500 ms"),
        }
        sleep(PAUSE).await;
    }
}

/// A name that no other server has.
fn new_name() -> Arc<str> {
    use std::hash::{BuildHasher as _, RandomState};
    // The system seeds each of the two separately.
    let [high, low] = [(); 2].map(|()| RandomState::new().hash_one(std::process::id()));
    format!("{high:016x}{low:016x}").into()
}

/// Returns when the connection has been given up. `name` is the name for a server without one; afterward it is this
/// server's name.
async fn watch_over(shared: &Shared, connected: &Connected, name: &mut Arc<str>) {
    let mut state = shared.state.subscribe();
    let is_it = |state: &State| matches!(state, State::Up(one) if one.number == connected.number);
    let mut given_up = pin!(state.wait_for(|state| !is_it(state)));
    loop {
        // The user may lack the permission. Then the name stays unknown, and nothing else depends on it.
        if let Ok(Ok(said)) = timeout(LIMIT, connected.name(name)).await {
            *name = said;
            shared.named(Some(name.clone()));
        }
        let pause = match connected.failures.load(Ordering::Relaxed) {
            0 => HEARTBEAT,
            _ => DOUBTFUL_HEARTBEAT,
        };
        if timeout(pause, &mut given_up).await.is_ok() {
            return;
        }
        let beat = timeout(LIMIT, connected.ping()).await;
        shared.judge(connected, beat.ok());
    }
}

impl Connected {
    /// Connects, loads the scripts and makes a check, as requests will.
    async fn open(shared: &Arc<Shared>, number: u64) -> RedisResult<Self> {
        let listener = Arc::downgrade(shared);
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(PIPELINE)
            .set_push_sender(move |push: PushInfo| {
                on_push(&listener, number, &push);
                Ok::<(), SendError>(())
            });
        let client = &shared.client;
        let mut connection = client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        let mut load = redis::pipe();
        for script in Script::ALL {
            load.cmd("SCRIPT")
                .arg("LOAD")
                .arg(script.source(shared.clock));
        }
        let connected = Self {
            number,
            digests: load.query_async(&mut connection).await?,
            connection,
            failures: AtomicU32::new(0),
            clock: shared.clock,
        };
        connected.try_out().await?;
        Ok(connected)
    }

    /// A check with a test key: the server may be loading its data or refuse writes.
    async fn try_out(&self) -> RedisResult<()> {
        let quota = Quota::per_minute(MAX_PER_MINUTE);
        let numbers = [quota.interval_us(), quota.refill_us(), 0];
        self.run::<Value>(Script::Take, &[TEST_BUCKET], &numbers)
            .await?;
        Ok(())
    }

    async fn run<T: FromRedisValue>(
        &self,
        script: Script,
        keys: &[&str],
        numbers: &[i64],
    ) -> RedisResult<T> {
        let digest = &self.digests[script as usize];
        let command = |name, script: &str| {
            let mut command = Cmd::with_capacity(
                3 + keys.len() + numbers.len(),
                128 + 48 * keys.len() + script.len(),
            );
            command.arg(name).arg(script).arg(keys.len());
            command.arg(keys).arg(numbers);
            command
        };
        let mut connection = self.connection.clone();
        let said = command("EVALSHA", digest)
            .query_async(&mut connection)
            .await;
        match said {
            // The server has forgotten its scripts: it did not run this one, and EVAL stores it again.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                command("EVAL", &script.source(self.clock))
                    .query_async(&mut connection)
                    .await
            }
            said => said,
        }
    }

    /// The server's name. A server without one, such as one that came back empty, gets `unless_named`.
    async fn name(&self, unless_named: &Arc<str>) -> RedisResult<Arc<str>> {
        let mut connection = self.connection.clone();
        let get = || {
            let mut get = Cmd::new();
            get.arg("GET").arg(SERVER);
            get
        };
        let named: Option<String> = get().query_async(&mut connection).await?;
        if let Some(named) = named {
            return Ok(named.into());
        }
        let mut set = Cmd::new();
        set.arg("SET").arg(SERVER).arg(&**unless_named).arg("NX");
        let _: Value = set.query_async(&mut connection).await?;
        let named: String = get().query_async(&mut connection).await?;
        Ok(named.into())
    }

    async fn ping(&self) -> RedisResult<()> {
        let mut connection = self.connection.clone();
        redis::cmd("PING").exec_async(&mut connection).await
    }

    /// Warns of a server that may evict clients; returns whether the server answered.
    async fn advise(&self) -> bool {
        let mut connection = self.connection.clone();
        let mut info = redis::cmd("INFO");
        let asked = info.arg("memory").query_async(&mut connection);
        let Ok(Ok(info)) = timeout(LIMIT, asked).await else {
            return false;
        };
        let info: String = info;
        let policy = info
            .lines()
            .find_map(|line| line.strip_prefix("maxmemory_policy:"));
        if let Some(policy) = policy.filter(|policy| *policy != "noeviction") {
            tracing::warn!(
                policy,
                "Redis may drop counts when its memory is full, and clients would exceed their limits: set its \
                 `maxmemory-policy` to noeviction"
            );
        }
        true
    }
}

/// Handles a push message from the server, or from the library in its place.
fn on_push(shared: &Weak<Shared>, number: u64, push: &PushInfo) {
    if push.kind == PushKind::Disconnection
        && let Some(shared) = shared.upgrade()
    {
        shared.leave(number, State::Connecting);
    }
}
