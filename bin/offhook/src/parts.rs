//! What the commands are put together from.

use offhook_dispatch::sender::Sender;
use offhook_dispatch::{DispatchConfig, Dispatcher};
use offhook_documents::ChildExtractor;
use offhook_egress::{GuardedClient, Policy};
use offhook_engine::legacy::LegacyProvider;
use offhook_objects::Objects;
use offhook_providers::{
    ElevenLabsAgents, ModelRegistry, SimulatedLegacy, SpeechRegistry, application, embeddings,
    voice_library, whatsapp,
};
use offhook_services::{
    CallSettings, Catalog, DocumentWorker, ModelKind, Network, Services, ServicesConfig,
    SharedClock, SystemClock,
};
use offhook_storage::{Store, StoreConfig, mint};

use crate::data_dir;
use crate::prelude::*;
use crate::settings::ObjectsSettings;
use crate::telephone;

/// How long a request of a command to a service on this machine may take, streams aside.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Where the rows are.
///
/// # Errors
/// The database's URL is none.
pub(crate) fn store_config(settings: &Settings) -> anyhow::Result<StoreConfig> {
    match &settings.database_url {
        Some(url) => {
            let config = StoreConfig::from_url(url.expose()).map_err(anyhow::Error::msg)?;
            let direct_url = settings.database_direct_url.as_ref();
            Ok(config.with_direct_url(direct_url.map(|url| url.expose().to_owned())))
        }
        None => Ok(StoreConfig::sqlite(settings.database_file())),
    }
}

/// The rows, brought to this version's schema, with the key that seals the secrets among them; for a command.
///
/// # Errors
/// The data directory, the master key or the database cannot be had.
pub(crate) async fn open_store(settings: &Settings) -> anyhow::Result<Store> {
    open(settings, store_config(settings)?.patient()).await
}

/// As [`open_store`], for what answers requests.
pub(crate) async fn open_store_to_serve(settings: &Settings) -> anyhow::Result<Store> {
    open(settings, store_config(settings)?).await
}

async fn open(settings: &Settings, config: StoreConfig) -> anyhow::Result<Store> {
    if !settings.is_shared() {
        data_dir::create(&settings.data_dir)?;
    }
    let key = data_dir::master_key(settings)?;
    Ok(Store::open(&config, key).await?)
}

/// A provider that no agent can name is a setting without effect.
fn check_providers(settings: &Settings) -> anyhow::Result<()> {
    let catalog = Catalog::load(&settings.plans)?;
    let unknown = |name: &&String| !catalog.has_provider(ModelKind::Llm, name);
    if let Some(name) = settings.models.keys().find(unknown) {
        let known = catalog.providers(ModelKind::Llm).join("`, `");
        bail!(
            "section `models.{name}`: the model catalog has no such provider (it has `{known}`); \
             a server of your own is `models.local`"
        );
    }
    let listed = [ModelKind::Stt, ModelKind::Tts].map(|kind| catalog.providers(kind));
    let mut known = listed.concat();
    known.retain(|name| *name != "scripted");
    if let Some(name) = settings
        .speech
        .keys()
        .find(|name| !known.contains(&name.as_str()))
    {
        let known = known.join("`, `");
        bail!(
            "section `speech.{name}`: no agent can name this provider (but `{known}`); a server or program of your own is \
             `speech.local`"
        );
    }
    Ok(())
}

/// Where files are.
///
/// # Errors
/// The directory cannot be made, or the bucket's settings are wrong.
pub(crate) fn objects(settings: &Settings) -> anyhow::Result<Objects> {
    Ok(match &settings.objects {
        ObjectsSettings::Own => Objects::directory(&settings.data_dir.join("objects"), false)?,
        ObjectsSettings::Directory(path) => {
            Objects::directory(path, true).context("setting `storage.objects`")?
        }
        ObjectsSettings::Bucket(settings) => {
            Objects::s3(settings).context("setting `storage.objects`")?
        }
    })
}

/// The use cases over `store`, for the process `node`, whose calls go by `network`.
///
/// # Errors
/// The carrier, a model's provider or the catalog cannot be set up, or the database does not say what time it is.
pub(crate) async fn services(
    settings: &Settings,
    store: Store,
    node: NodeId,
    network: Network,
) -> anyhow::Result<Services> {
    check_providers(settings)?;
    let clock = SharedClock::of(&store).await?;
    // Whatever webhooks may do, a model's endpoint is public.
    let custom = GuardedClient::new(Policy::default())?;
    let models = ModelRegistry::new(settings.models.clone())?.with_custom_client(custom);
    let speech = SpeechRegistry::new(settings.speech.clone()).context("section `speech`")?;
    let speech = speech.with_voices(settings.speech_voices.clone());
    let legacy = legacy(settings, &network, clock.clone(), node)?;
    let config = ServicesConfig {
        store,
        clock: clock.clone(),
        plans: settings.plans.clone(),
        models: Arc::new(models),
        legacy,
        network,
        speech: Arc::new(speech),
        objects: objects(settings)?,
        node,
        has_redis: settings.redis_url.is_some(),
        webhook_policy: webhook_policy(settings),
        tool_client: GuardedClient::new(Policy::default())?,
        sso_client: GuardedClient::new(webhook_policy(settings))?,
        calls: CallSettings {
            allowed_prefixes: settings.calls.allowed_prefixes.clone(),
            max_queue: settings.calls.max_queue,
            drain: settings.calls.drain,
            page_share: settings.calls.page_share,
            ..CallSettings::default()
        },
    };
    let services = Services::new(config).context("a shipped catalog is broken")?;
    let services = services.with_spool(settings.data_dir.join("recordings"));
    let libraries: Result<_, _> = settings
        .voices
        .iter()
        .map(|(provider, settings)| voice_library(*provider, settings))
        .collect();
    let services = services.with_voice_libraries(libraries.context("section `voices`")?);
    let cloud_api = settings.whatsapp.clone().unwrap_or_default();
    let services = services.with_whatsapp(whatsapp(&cloud_api).context("section `whatsapp`")?);
    let applications: Result<_, _> = settings
        .integrations
        .iter()
        .map(|(toolkit, settings)| application(toolkit, settings))
        .collect();
    let services = services.with_applications(applications.context("section `integrations`")?);
    let services = match settings.seller.clone() {
        Some(seller) => services.with_seller(seller),
        None => services,
    };
    Ok(match &settings.embeddings {
        Some(settings) => services.with_embeddings(embeddings(settings)?),
        None => services,
    })
}

/// The provider of the legacy agents: the one that is configured, or a simulated one.
fn legacy(
    settings: &Settings,
    network: &Network,
    clock: Arc<dyn Clock>,
    node: NodeId,
) -> anyhow::Result<Arc<dyn LegacyProvider>> {
    if let Some(base_url) = &settings.legacy_base_url {
        let provider = ElevenLabsAgents::new(base_url).context("section `legacy`")?;
        return Ok(Arc::new(provider));
    }
    let carrier = match network {
        Network::Text(carrier) => carrier.clone(),
        Network::Spoken(_) => telephone::simulated(settings)?,
    };
    Ok(Arc::new(SimulatedLegacy::new(carrier, clock, node)))
}

/// The use cases for a command that administers, beside a service that may be running.
///
/// # Errors
/// As [`open_store`] and [`services`]; without a database too, as a directory that was misspelt gets none.
pub(crate) async fn administration(settings: &Settings) -> anyhow::Result<Services> {
    find_database(settings)?;
    administration_anew(settings).await
}

/// Refuses a data directory without a database: one that was misspelt gets none.
pub(crate) fn find_database(settings: &Settings) -> anyhow::Result<()> {
    if !settings.is_shared() && !settings.database_file().exists() {
        bail!(
            "there is no database in {}: is that the --data-dir of the service? (`offhook serve` and \
             `offhook account create` make one)",
            settings.data_dir.display()
        );
    }
    Ok(())
}

/// As [`administration`], and makes the database where there is none.
///
/// # Errors
/// As [`open_store`] and [`services`].
pub(crate) async fn administration_anew(settings: &Settings) -> anyhow::Result<Services> {
    let store = open_store(settings).await?;
    let network = telephone::unplugged(settings)?;
    services(settings, store, new_node(), network).await
}

/// What webhook URLs may point to.
pub(crate) fn webhook_policy(settings: &Settings) -> Policy {
    Policy {
        allow_private: settings.webhooks.allow_private_targets,
    }
}

/// A name for this process among those that share a database.
pub(crate) fn new_node() -> NodeId {
    mint(SystemClock.now())
}

/// The worker that reads documents, each in a child of this binary.
///
/// # Errors
/// The binary's own path is unknown, or its client cannot be set up.
pub(crate) fn document_worker(services: &Services) -> anyhow::Result<DocumentWorker> {
    let program = std::env::current_exe().context("the path of this binary is unknown")?;
    let extractor = Arc::new(ChildExtractor::new(program));
    // Whatever webhooks may do, a document's address is public.
    let client = GuardedClient::new(Policy::default())?;
    Ok(services.document_worker(extractor, client))
}

/// A client for a service on this machine: the environment's proxies have no part in that.
pub(crate) fn http_client() -> anyhow::Result<reqwest::Client> {
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(offhook_egress::client_config()?)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_LIMIT);
    Ok(client.build()?)
}

/// The worker that delivers webhooks.
pub(crate) fn dispatcher(settings: &Settings, services: &Services) -> anyhow::Result<Dispatcher> {
    let sender = Sender::new(webhook_policy(settings))?;
    let (clock, wake) = (
        services.clock().clone(),
        services.wakes().dispatcher.clone(),
    );
    Ok(Dispatcher::new(DispatchConfig {
        changes: services.wakes().endpoint_changes.clone(),
        auto_disable: settings.webhooks.auto_disable,
        retry_offsets: settings.webhooks.retry_offsets.to_vec(),
        ..DispatchConfig::new(services.store().clone(), clock, sender, wake)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Flags;

    fn with_provider(name: &str) -> anyhow::Result<()> {
        let variable = format!("OFFHOOK_MODELS__{name}__BASE_URL");
        let environment = [(variable.into(), "http://127.0.0.1:11434/v1".into())];
        check_providers(&Settings::from_parts(Flags::default(), environment)?)
    }

    #[test]
    fn a_provider_that_no_agent_can_name_is_refused_with_those_that_it_can() {
        with_provider("OPENAI").unwrap();
        with_provider("LOCAL").unwrap();
        let refused = with_provider("OLAMA").unwrap_err().to_string();
        assert!(refused.starts_with("section `models.olama`: "), "{refused}");
        assert!(refused.contains("`local`"), "{refused}");
    }
}
