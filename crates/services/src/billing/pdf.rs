//! Renders an invoice as a PDF of A4 pages.

mod typeface;

use pdf_writer::{Content, Finish as _, Pdf, Rect, Ref, TextStr};

use super::Seller;
use crate::Result;
use crate::prelude::*;

use typeface::{Objects, Typeface};

const WIDTH: f32 = 595.0;
const HEIGHT: f32 = 842.0;
const LEFT: f32 = 56.0;
const RIGHT: f32 = WIDTH - 56.0;
/// The left edge of the header's values and of the descriptions.
const VALUES: f32 = LEFT + 60.0;
/// The right edge of the credits column, and the widest number in it.
const CREDITS: f32 = 450.0;
const CREDITS_WIDTH: f32 = 80.0;
const LINES_ON_A_PAGE: usize = 28;
/// The left edge of the parties, and the lines of an address that there is room for.
const PARTIES: f32 = 320.0;
const ADDRESS_LINES: usize = 4;

/// A font size, and whether it is bold.
type Style = (f32, bool);

const TITLE: Style = (20.0, true);
const PLAIN: Style = (10.0, false);
const BOLD: Style = (10.0, true);
const TOTAL: Style = (11.0, true);
const SMALL: Style = (8.0, false);

/// Who sells, if that is configured, and to whom.
#[derive(Clone, Copy)]
pub(super) struct Parties<'a> {
    pub(super) seller: Option<&'a Seller>,
    pub(super) buyer: &'a Buyer,
}

/// Fails only if the typeface in the binary is broken.
pub(super) fn render(
    account: &Account,
    parties: Parties<'_>,
    invoice: &Invoice,
    lines: &[InvoiceLine],
) -> Result<Vec<u8>> {
    let pages: Vec<&[InvoiceLine]> = match lines {
        [] => vec![&[]],
        lines => lines.chunks(LINES_ON_A_PAGE).collect(),
    };
    let mut typeface = Typeface::load()?;
    let mut contents = Vec::with_capacity(pages.len());
    for (n, lines) in pages.iter().enumerate() {
        let mut sheet = Sheet {
            content: Content::new(),
            typeface: &mut typeface,
        };
        sheet.head(account, parties, invoice);
        let y = sheet.table(lines);
        if n + 1 == pages.len() {
            sheet.total(parties.seller, invoice, y);
        }
        let footer = format!("{} - page {} of {}", invoice.number, n + 1, pages.len());
        sheet.text(SMALL, (LEFT, 40.0), &footer);
        contents.push(sheet.content.finish());
    }

    let mut pdf = Pdf::new();
    let (catalog, tree, info) = (Ref::new(1), Ref::new(2), Ref::new(3));
    let font = Objects {
        font: Ref::new(4),
        letters: Ref::new(5),
        descriptor: Ref::new(6),
        file: Ref::new(7),
        unicode: Ref::new(8),
    };
    let page_ref = |n: usize| Ref::new(9 + 2 * i32::try_from(n).unwrap_or(0));
    let content_ref = |n: usize| Ref::new(10 + 2 * i32::try_from(n).unwrap_or(0));
    pdf.catalog(catalog).pages(tree).lang(TextStr("en"));
    pdf.document_info(info)
        .title(TextStr(&format!("Invoice {}", invoice.number)));
    pdf.pages(tree)
        .kids((0..pages.len()).map(page_ref))
        .count(i32::try_from(pages.len()).unwrap_or(1));
    for (n, content) in contents.iter().enumerate() {
        let mut page = pdf.page(page_ref(n));
        page.media_box(Rect::new(0.0, 0.0, WIDTH, HEIGHT))
            .parent(tree)
            .contents(content_ref(n));
        page.resources().fonts().pair(typeface::NAME, font.font);
        page.finish();
        pdf.stream(content_ref(n), content);
    }
    typeface.finish(&mut pdf, &font)?;
    Ok(pdf.finish())
}

/// A page that is being drawn.
struct Sheet<'a> {
    content: Content,
    typeface: &'a mut Typeface,
}

impl Sheet<'_> {
    fn head(&mut self, account: &Account, parties: Parties<'_>, invoice: &Invoice) {
        self.text(TITLE, (LEFT, 770.0), "Invoice");
        let first = Timestamp::of_utc_month(invoice.month).utc_date();
        let last = Timestamp::of_utc_month(invoice.month + 1)
            .minus(std::time::Duration::from_micros(1))
            .utc_date();
        let issued = match invoice.issued_at {
            Some(at) => at.utc_date(),
            None => "not yet".to_owned(),
        };
        let status = match invoice.status {
            InvoiceStatus::Draft => "Draft: the month still runs",
            InvoiceStatus::Open => "Open",
            InvoiceStatus::Paid => "Paid",
            InvoiceStatus::Void => "Void",
        };
        let due = parties.seller.zip(invoice.issued_at);
        let due = due.map(|(seller, issued)| ("Due", seller.due(issued).utc_date()));
        let facts = [
            ("Number", invoice.number.clone()),
            ("Period", format!("{first} to {last} (UTC)")),
            ("Issued", issued),
            ("Status", status.to_owned()),
        ];
        let mut y = 735.0;
        for (name, value) in facts.into_iter().chain(due) {
            self.text(PLAIN, (LEFT, y), name);
            self.text_within(PLAIN, (VALUES, y), PARTIES - 10.0, &value);
            y -= 15.0;
        }
        self.text(SMALL, (LEFT, 618.0), &format!("Account {}", account.id));
        if let Some(seller) = parties.seller {
            let address = seller.address.iter().map(String::as_str);
            self.party(770.0, &seller.name, address, seller.tax_id.as_deref());
        }
        let buyer = parties.buyer;
        let name = if buyer.name.is_empty() {
            &account.name
        } else {
            &buyer.name
        };
        let tax_id = Some(buyer.tax_id.as_str()).filter(|id| !id.is_empty());
        self.text(SMALL, (PARTIES, 690.0), "Billed to");
        self.party(676.0, name, buyer.address.lines(), tax_id);
    }

    /// A party's name, address and tax id, from `y` down.
    fn party<'b>(
        &mut self,
        mut y: f32,
        name: &str,
        address: impl Iterator<Item = &'b str>,
        tax_id: Option<&str>,
    ) {
        self.text_within(BOLD, (PARTIES, y), RIGHT, name);
        let tax_id = tax_id.map(|id| format!("Tax ID {id}"));
        let lines = address.map(str::to_owned).take(ADDRESS_LINES);
        for line in lines.chain(tax_id) {
            y -= 13.0;
            self.text_within(PLAIN, (PARTIES, y), RIGHT, &line);
        }
    }

    /// Draws the lines under their heading; returns where the next thing goes.
    fn table(&mut self, lines: &[InvoiceLine]) -> f32 {
        let mut y = 590.0;
        self.text(BOLD, (LEFT, y), "Date");
        self.text(BOLD, (VALUES, y), "Description");
        self.text_to(BOLD, (CREDITS, y), "Credits");
        self.text_to(BOLD, (RIGHT, y), "USD");
        self.rule(y - 5.0);
        y -= 2.0;
        for line in lines {
            y -= 16.0;
            self.text(PLAIN, (LEFT, y), &line.created_at.utc_date());
            let end = CREDITS - CREDITS_WIDTH;
            self.text_within(PLAIN, (VALUES, y), end, &line.description);
            let credits = line.credits.map(|credits| credits.to_string());
            self.text_to(PLAIN, (CREDITS, y), &credits.unwrap_or_default());
            self.text_to(PLAIN, (RIGHT, y), &usd(line.amount_cents));
        }
        self.rule(y - 6.0);
        y - 22.0
    }

    fn total(&mut self, seller: Option<&Seller>, invoice: &Invoice, mut y: f32) {
        if let Some((seller, tax)) =
            seller.and_then(|seller| Some((seller, seller.tax_in(invoice.amount_cents)?)))
        {
            let percent = seller.tax_percent.unwrap_or_default();
            let name = format!("{} {percent}%", seller.tax_name);
            let net = invoice.amount_cents - tax;
            for (name, cents) in [("Without tax", net), (name.as_str(), tax)] {
                self.text(PLAIN, (VALUES, y), name);
                self.text_to(PLAIN, (RIGHT, y), &usd(cents));
                y -= 15.0;
            }
        }
        self.text(TOTAL, (VALUES, y), "Total");
        let amount = format!("USD {}", usd(invoice.amount_cents));
        self.text_to(TOTAL, (RIGHT, y), &amount);
    }

    fn text(&mut self, style: Style, at: (f32, f32), text: &str) {
        self.typeface.write(&mut self.content, style, at, text);
    }

    /// Writes text that ends before `end`, shortened if necessary.
    fn text_within(&mut self, style: Style, at: (f32, f32), end: f32, text: &str) {
        let fitting = self.typeface.shortened(style.0, text, end - at.0);
        self.text(style, at, &fitting);
    }

    /// Writes text that ends at `x`.
    fn text_to(&mut self, style: Style, (x, y): (f32, f32), text: &str) {
        let width = self.typeface.width(style.0, text);
        self.text(style, (x - width, y), text);
    }

    fn rule(&mut self, y: f32) {
        self.content.set_line_width(0.5);
        self.content.move_to(LEFT, y);
        self.content.line_to(RIGHT, y);
        self.content.stroke();
    }
}

/// Dollars with two decimals.
fn usd(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.unsigned_abs();
    format!("{sign}{}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use offhook_domain::Plan;
    use offhook_storage::mint;

    use super::*;

    const AT: Timestamp = Timestamp::from_micros(1_777_550_400_123_456);

    fn line(description: &str, credits: Option<i64>, amount_cents: i64) -> InvoiceLine {
        InvoiceLine {
            description: description.to_owned(),
            credits,
            amount_cents,
            created_at: AT,
        }
    }

    fn drawn(name: &str, lines: &[InvoiceLine]) -> Vec<u8> {
        let parties = Parties {
            seller: None,
            buyer: &Buyer::default(),
        };
        drawn_for(parties, name, lines)
    }

    fn drawn_for(parties: Parties<'_>, name: &str, lines: &[InvoiceLine]) -> Vec<u8> {
        let account = Account {
            id: mint(AT),
            name: name.to_owned(),
            plan: Plan::Pro,
            engine_module: None,
            created_at: AT,
            dialing: offhook_storage::Dialing::default(),
            has_own_keys: false,
        };
        let invoice = Invoice {
            id: mint(AT),
            account_id: account.id,
            month: AT.utc_month(),
            number: "INV-202604-00AB".to_owned(),
            status: InvoiceStatus::Open,
            amount_cents: lines.iter().map(|line| line.amount_cents).sum(),
            created_at: AT,
            issued_at: Some(AT),
        };
        render(&account, parties, &invoice, lines).unwrap()
    }

    fn text_of(pdf: &[u8]) -> String {
        pdf_extract::extract_text_from_mem(pdf).unwrap()
    }

    #[test]
    fn every_line_and_the_total_are_on_the_pages() {
        let lines: Vec<_> = (0..40)
            .map(|n| line(&format!("Line {n} of it"), Some(n), n * 100 + 5))
            .collect();
        let pdf = drawn("Acme", &lines);
        assert!(pdf.starts_with(b"%PDF-1."));
        assert!(pdf.trim_ascii_end().ends_with(b"%%EOF"));
        let text = text_of(&pdf);
        for n in 0..40 {
            assert!(text.contains(&format!("Line {n} of it")), "{n}: {text}");
            assert!(text.contains(&format!("{n}.05")), "{n}: {text}");
        }
        for part in [
            "INV-202604-00AB",
            "2026-04-01 to 2026-04-30 (UTC)",
            "Open",
            "page 2 of 2",
            "USD 782.00",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(usd(-5), "-0.05");
    }

    #[test]
    fn an_invoice_names_the_parties_the_tax_in_it_and_when_it_is_due() {
        let seller = Seller {
            name: "Offhook Ltd".to_owned(),
            address: vec!["1 Main Street".to_owned(), "London".to_owned()],
            tax_id: Some("GB123".to_owned()),
            tax_name: "VAT".to_owned(),
            tax_percent: Some(16.0),
            due_days: 30,
        };
        let buyer = Buyer {
            name: "Acme S.A. de C.V.".to_owned(),
            address: "Reforma 1\nCiudad de México".to_owned(),
            tax_id: "ACM010101AAA".to_owned(),
        };
        let parties = Parties {
            seller: Some(&seller),
            buyer: &buyer,
        };
        let text = text_of(&drawn_for(
            parties,
            "Acme",
            &[line("Plan Pro", None, 11_600)],
        ));
        for part in [
            "Offhook Ltd",
            "1 Main Street",
            "Tax ID GB123",
            "Acme S.A. de C.V.",
            "Ciudad de México",
            "Tax ID ACM010101AAA",
            "Without tax",
            "100.00",
            "VAT 16%",
            "16.00",
            "USD 116.00",
            "2026-05-30",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(seller.tax_in(-116), Some(-16));
    }

    #[test]
    fn names_are_written_in_their_own_letters() {
        for name in [
            "Peluquería «Ñandú»",
            "Łódź Żółć Sp. z o.o.",
            "Ελληνική Εταιρεία",
            "Ромашка",
            "Çağ İnşaat Ğ",
        ] {
            let text = text_of(&drawn(name, &[line("Plan Pro", None, 19_900)]));
            assert!(text.contains(name), "{name}: {text}");
        }
        // Composed before it is drawn.
        assert!(text_of(&drawn("Jose\u{301}", &[])).contains("José"));
        let text = text_of(&drawn("東京 Ltd", &[]));
        assert!(text.contains("\u{fffd}\u{fffd} Ltd"), "{text}");
    }

    #[test]
    fn a_document_has_only_the_letters_that_it_uses() {
        let pdf = drawn("Acme", &[line("Plan Pro", None, 19_900)]);
        assert!(pdf.len() < 60_000, "{}", pdf.len());
    }

    #[test]
    fn what_is_too_long_for_its_place_is_shortened() {
        let long = "A very long description of what was bought ".repeat(5);
        let pdf = drawn(&long, &[line(&long, Some(1_000_000_000), i64::MAX / 100)]);
        let text = text_of(&pdf);
        assert!(text.contains('…') && !text.contains(long.trim()), "{text}");
        let typeface = Typeface::load().unwrap();
        for most in [0.0, 5.0, 50.0, 200.0] {
            let short = typeface.shortened(10.0, &long, most);
            assert!(typeface.width(10.0, &short) <= most, "{short}");
        }
        assert_eq!(typeface.shortened(10.0, "short", 200.0), "short");
    }
}
