//! The recipients of a campaign, from JSON or a CSV file: read, judged by the campaign's window, and added in parts.

use jiff::tz::TimeZone;
use offhook_domain::body::{Form as _, Like, Nested, Optional, Or, Own, Phone, Required, Text};
use offhook_domain::json::RowFault;

use super::{Campaigns, round_of, settings_of};
use crate::calls::allowed;
use crate::csv_file::{self, Record, Rows};
use crate::error::Result;
use crate::gate::{Window, zones_for};
use crate::prelude::*;
use crate::transact::transact;

/// Rows of one request.
pub const ROWS_AT_MOST: usize = 500_000;

/// Recipients of one campaign.
const RECIPIENTS_AT_MOST: i32 = 1_000_000;

/// Rows that are written together: the campaign's calls are placed between them.
const AT_ONCE: usize = 5_000;

/// Rows that a preview shows.
const PREVIEWED: usize = 5;

/// The column or member with the number.
const TO: &str = "to";

/// The columns that are no variables.
const COLUMNS: [&str; 6] = [
    TO,
    "name",
    "time_zone",
    "consent_basis",
    "consent_at",
    "consent_evidence",
];

body! {
    /// A recipient.
    #[derive(Debug)]
    pub CampaignRecipientRequest(prefixes: [String] = &[]) {
        to: E164, Required(Like(Phone, allowed(prefixes))), "The number to call, E.164. A number that the campaign has already is left out.";
        name: String, Or(Text(0..=200), String::new()), "The customer's name, which the agent has as `customer_name`.";
        variables: Metadata, Or(Own(variables), Metadata::empty()), "The agent's dynamic variables, as `metadata` of POST /v1/calls.";
        time_zone: Option<String>, Optional(Like(Text(1..=64), time_zone)), "The customer's IANA time zone, in place of the number's.";
        consent: Option<Consent>, Optional(Nested::of()), "What the customer agreed to before.";
    }
}

fn variables(fields: &mut Fields<'_>, name: &str) -> Result<Metadata, FieldError> {
    let path = fields.path_of(name);
    Metadata::from_json(fields.required(name)?, &path)
}

fn time_zone(fields: &mut Fields<'_>, name: &str) -> Result<String, FieldError> {
    let zone = Text(1..=64).read(fields, name)?;
    match TimeZone::get(&zone) {
        Ok(_) => Ok(zone),
        Err(_) => Err(fields.fault(name, Fault::TimeZone)),
    }
}

/// A request with recipients.
#[derive(Debug)]
pub struct RecipientsUpload {
    /// `{recipients, skip_bad_rows?}`; of a file, its other fields.
    pub fields: Json,
    /// A CSV file with the recipients.
    pub file: Option<Vec<u8>>,
    /// Whether rows with a fault are left out, if the fields do not say.
    pub skip_bad_rows: bool,
}

/// What came of recipients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedRecipients {
    pub added: usize,
    /// Those that the campaign had already.
    pub duplicates: usize,
    /// Rows that were left out.
    pub bad_rows: usize,
    /// What is wrong with the first of them.
    pub bad: Vec<RowFault>,
}

/// What would be added of recipients.
#[derive(Debug)]
pub struct RecipientsPreview {
    /// Rows without a fault.
    pub rows: usize,
    /// The first of them.
    pub first: Vec<NewCampaignRecipient>,
    /// Rows with a fault.
    pub bad_rows: usize,
    /// What is wrong with the first of them.
    pub bad: Vec<RowFault>,
}

/// The call's variables: the recipient's, and its name.
pub(super) fn metadata(variables: &str, name: &str) -> Metadata {
    let read = Json::parse(variables.as_bytes()).ok();
    let members = read.as_ref().and_then(Json::as_object).unwrap_or_default();
    let mut members = members.to_vec();
    let is_named = members.iter().any(|(known, _)| known == "customer_name");
    if !name.is_empty() && !is_named {
        members.push(("customer_name".to_owned(), Json::String(name.to_owned())));
    }
    let stored = Json::Object(members).to_compact();
    Metadata::from_stored(&stored).unwrap_or_default()
}

/// Reads rows for one campaign.
struct Reader<'a> {
    prefixes: &'a [String],
    window: Option<Window>,
    at: Timestamp,
}

impl Reader<'_> {
    fn row(&self, row: &Json, path: &str) -> Result<NewCampaignRecipient, FieldError> {
        let row = CampaignRecipientRequest::read(Fields::of(row, path)?, self.prefixes)?;
        let at = |name: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        let variables = row.variables.as_json_text().to_owned();
        let whole = Json::parse(metadata(&variables, &row.name).as_json_text().as_bytes());
        Metadata::from_json(&whole.unwrap_or(Json::Null), &at("variables"))?;
        if let Some(window) = &self.window {
            let Some(zones) = zones_for(&row.to, row.time_zone.as_deref()) else {
                return Err(FieldError::new(at(TO), Fault::ZoneUnknown));
            };
            if window.closed(zones, self.at) == Some(None) {
                return Err(FieldError::new(at(TO), Fault::WindowNeverOpens));
            }
        }
        Ok(NewCampaignRecipient {
            id: mint(self.at),
            number: row.to,
            name: row.name,
            variables,
            time_zone: row.time_zone,
            consent: row.consent.as_ref().map(Consent::to_stored),
        })
    }

    fn json(&self, items: &[Json]) -> Rows<NewCampaignRecipient> {
        let mut rows = Rows::default();
        for (at, item) in items.iter().enumerate() {
            let row = self.row(item, &format!("recipients[{at}]"));
            rows.add(row.map_err(|fault| RowFault::Item(Box::new(fault))));
        }
        rows
    }

    fn csv(&self, file: &[u8]) -> Result<Rows<NewCampaignRecipient>, FieldError> {
        csv_file::read_rows(file, (TO, ROWS_AT_MOST), |record| {
            let row = self.row(&members(record), "");
            row.map_err(|fault| match fault.path.as_str() {
                "variables" => record.of_metadata(fault.fault),
                _ => record.of_cell(fault),
            })
        })
    }
}

/// A row of a file as the JSON that means the same.
fn members(record: &Record<'_>) -> Json {
    let text = |text: &str| Json::String(text.to_owned());
    // What this service writes for spreadsheets comes back.
    let to = record.cell(TO);
    let mut members = vec![(TO.to_owned(), text(to.strip_prefix('\'').unwrap_or(to)))];
    for column in ["name", "time_zone"] {
        let cell = record.cell(column);
        if !cell.is_empty() {
            members.push((column.to_owned(), text(cell)));
        }
    }
    let parts = ["basis", "at", "evidence"].into_iter().filter_map(|part| {
        let cell = record.cell(&format!("consent_{part}"));
        (!cell.is_empty()).then(|| (part.to_owned(), text(cell)))
    });
    let consent: Vec<_> = parts.collect();
    if !consent.is_empty() {
        members.push(("consent".to_owned(), Json::Object(consent)));
    }
    let others = record.others(&COLUMNS);
    let variables = others.map(|(name, cell)| (name.to_owned(), text(cell)));
    members.push(("variables".to_owned(), Json::Object(variables.collect())));
    Json::Object(members)
}

#[boxed]
impl Campaigns {
    /// Adds recipients, but for numbers that the campaign has already, so that the same request again changes nothing.
    pub async fn add(
        &self,
        account: AccountId,
        id: CampaignId,
        upload: &RecipientsUpload,
    ) -> Result<AddedRecipients> {
        let at = self.0.clock.now();
        let (field, rows, skips) = self.read(account, id, upload).await?;
        let (rows, bad_rows, bad) = match skips {
            true => rows.into_parts(),
            false => (rows.finish(field)?, 0, Vec::new()),
        };
        let given = rows.len();
        let added = self.write(account, id, rows, at).await?;
        tracing::info!(campaign = %id, recipients = added, "recipients added to a campaign");
        self.0.wakes.campaigns.notify_one();
        Ok(AddedRecipients {
            added,
            duplicates: given - added,
            bad_rows,
            bad,
        })
    }

    /// Reads recipients and writes nothing: what [`Campaigns::add`] would add if bad rows were left out.
    pub async fn preview(
        &self,
        account: AccountId,
        id: CampaignId,
        upload: &RecipientsUpload,
    ) -> Result<RecipientsPreview> {
        let (rows, bad_rows, bad) = self.read(account, id, upload).await?.1.into_parts();
        Ok(RecipientsPreview {
            rows: rows.len(),
            first: rows.into_iter().take(PREVIEWED).collect(),
            bad_rows,
            bad,
        })
    }

    /// The field that holds the rows, the rows, and whether bad ones are left out.
    async fn read(
        &self,
        account: AccountId,
        id: CampaignId,
        upload: &RecipientsUpload,
    ) -> Result<(&'static str, Rows<NewCampaignRecipient>, bool)> {
        let mut fields = Fields::of(&upload.fields, "")?;
        let skips = match fields.peek("skip_bad_rows") {
            // A form has texts alone.
            Some(Json::String(word)) if word == "true" || word == "false" => {
                let skips = word == "true";
                fields.take("skip_bad_rows");
                skips
            }
            Some(_) => fields.optional_bool("skip_bad_rows")?.unwrap_or(false),
            None => upload.skip_bad_rows,
        };
        let items = match upload.file {
            Some(_) => None,
            None => {
                fields.required("recipients")?;
                fields.optional_array("recipients", 1..=ROWS_AT_MOST)?
            }
        };
        fields.finish()?;
        let campaign = self.get(account, id).await?;
        check_open(&campaign)?;
        let reader = Reader {
            prefixes: &self.0.calls.allowed_prefixes,
            window: settings_of(&campaign)?.window.map(Window::of),
            at: self.0.clock.now(),
        };
        let (field, rows) = match &upload.file {
            Some(file) => (csv_file::FILE, reader.csv(file)?),
            None => ("recipients", reader.json(items.unwrap_or_default())),
        };
        if rows.is_empty() {
            return Err(FieldError::new(field, Fault::Empty).into());
        }
        Ok((field, rows, skips))
    }

    async fn write(
        &self,
        account: AccountId,
        id: CampaignId,
        mut rows: Vec<NewCampaignRecipient>,
        at: Timestamp,
    ) -> Result<usize> {
        let mut added = 0;
        while !rows.is_empty() {
            let rest = rows.split_off(rows.len().min(AT_ONCE));
            let written: Result<i32> = transact!(self.0.store, |tx| {
                let found = tx.lock_campaign(account, id).await?;
                let mut campaign = found.ok_or(UseCaseError::NotFound)?;
                check_open(&campaign)?;
                let added = tx.add_recipients(&campaign, rows, at).await?;
                campaign.total += added;
                campaign.pending += added;
                if campaign.total > RECIPIENTS_AT_MOST {
                    return Err(UseCaseError::Conflict(Refusal::CampaignFull(
                        RECIPIENTS_AT_MOST,
                    )));
                }
                let round_at = round_of(&campaign, at);
                tx.save_campaign(&campaign, round_at).await?;
                Ok(added)
            });
            added += usize::try_from(written?).unwrap_or(0);
            rows = rest;
        }
        Ok(added)
    }
}

fn check_open(campaign: &Campaign) -> Result<()> {
    match campaign.status.is_over() {
        true => Err(UseCaseError::Conflict(Refusal::CampaignOver(
            campaign.status,
        ))),
        false => Ok(()),
    }
}
