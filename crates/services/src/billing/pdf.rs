//! An invoice as a PDF of A4 pages, in the typefaces that every reader has.

use offhook_domain::{InvoiceStatus, Timestamp};
use offhook_storage::{Account, Invoice, InvoiceLine};
use pdf_writer::{Content, Finish as _, Name, Pdf, Rect, Ref, Str, TextStr};

const WIDTH: f32 = 595.0;
const HEIGHT: f32 = 842.0;
const LEFT: f32 = 56.0;
const RIGHT: f32 = WIDTH - 56.0;
/// Where the column of credits ends.
const CREDITS: f32 = 440.0;
const LINES_ON_A_PAGE: usize = 32;
const PLAIN: Name<'static> = Name(b"F1");
const BOLD: Name<'static> = Name(b"F2");

/// Draws the invoice.
pub(super) fn render(account: &Account, invoice: &Invoice, lines: &[InvoiceLine]) -> Vec<u8> {
    let pages: Vec<&[InvoiceLine]> = match lines {
        [] => vec![&[]],
        lines => lines.chunks(LINES_ON_A_PAGE).collect(),
    };
    let mut pdf = Pdf::new();
    let (catalog, tree, plain, bold) = (Ref::new(1), Ref::new(2), Ref::new(3), Ref::new(4));
    let page_ref = |n: usize| Ref::new(6 + 2 * i32::try_from(n).unwrap_or(0));
    let content_ref = |n: usize| Ref::new(7 + 2 * i32::try_from(n).unwrap_or(0));
    pdf.catalog(catalog).pages(tree);
    pdf.document_info(Ref::new(5))
        .title(TextStr(&format!("Invoice {}", invoice.number)));
    pdf.pages(tree)
        .kids((0..pages.len()).map(page_ref))
        .count(i32::try_from(pages.len()).unwrap_or(1));
    for (id, name) in [(plain, &b"Helvetica"[..]), (bold, b"Helvetica-Bold")] {
        pdf.type1_font(id)
            .base_font(Name(name))
            .encoding_predefined(Name(b"WinAnsiEncoding"));
    }
    for (n, lines) in pages.iter().enumerate() {
        let mut page = pdf.page(page_ref(n));
        page.media_box(Rect::new(0.0, 0.0, WIDTH, HEIGHT))
            .parent(tree)
            .contents(content_ref(n));
        page.resources().fonts().pair(PLAIN, plain).pair(BOLD, bold);
        page.finish();
        let mut sheet = Sheet(Content::new());
        head(&mut sheet, account, invoice);
        let y = table(&mut sheet, lines);
        if n + 1 == pages.len() {
            total(&mut sheet, invoice, y);
        }
        let footer = format!("{} - page {} of {}", invoice.number, n + 1, pages.len());
        sheet.text(PLAIN, 8.0, (LEFT, 40.0), &footer);
        pdf.stream(content_ref(n), &sheet.0.finish());
    }
    pdf.finish()
}

fn head(sheet: &mut Sheet, account: &Account, invoice: &Invoice) {
    sheet.text(BOLD, 20.0, (LEFT, 770.0), "Invoice");
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
    let facts = [
        ("Number", invoice.number.clone()),
        ("Billed to", account.name.clone()),
        ("Account", account.id.to_string()),
        ("Period", format!("{first} to {last} (UTC)")),
        ("Issued", issued),
        ("Status", status.to_owned()),
    ];
    let mut y = 735.0;
    for (name, value) in facts {
        sheet.text(PLAIN, 10.0, (LEFT, y), name);
        sheet.text(PLAIN, 10.0, (LEFT + 80.0, y), &shortened(&value, 70));
        y -= 15.0;
    }
}

/// The lines under their heading; where the next thing goes.
fn table(sheet: &mut Sheet, lines: &[InvoiceLine]) -> f32 {
    let mut y = 625.0;
    sheet.text(BOLD, 10.0, (LEFT, y), "Date");
    sheet.text(BOLD, 10.0, (LEFT + 70.0, y), "Description");
    sheet.text_to(BOLD, 10.0, (CREDITS, y), "Credits");
    sheet.text_to(BOLD, 10.0, (RIGHT, y), "USD");
    sheet.rule(y - 5.0);
    for line in lines {
        y -= 16.0;
        sheet.text(PLAIN, 10.0, (LEFT, y), &line.created_at.utc_date());
        let description = shortened(&line.description, 50);
        sheet.text(PLAIN, 10.0, (LEFT + 70.0, y), &description);
        let credits = line.credits.map(|credits| credits.to_string());
        sheet.text_to(PLAIN, 10.0, (CREDITS, y), &credits.unwrap_or_default());
        sheet.text_to(PLAIN, 10.0, (RIGHT, y), &usd(line.amount_cents));
    }
    sheet.rule(y - 6.0);
    y - 22.0
}

fn total(sheet: &mut Sheet, invoice: &Invoice, y: f32) {
    sheet.text(BOLD, 11.0, (LEFT + 70.0, y), "Total");
    let amount = format!("USD {}", usd(invoice.amount_cents));
    sheet.text_to(BOLD, 11.0, (RIGHT, y), &amount);
}

/// Dollars with two decimals.
fn usd(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.unsigned_abs();
    format!("{sign}{}.{:02}", cents / 100, cents % 100)
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 3).chain("...".chars()).collect()
}

struct Sheet(Content);

impl Sheet {
    fn text(&mut self, font: Name<'_>, size: f32, (x, y): (f32, f32), text: &str) {
        self.0.begin_text();
        self.0.set_font(font, size);
        self.0.next_line(x, y);
        self.0.show(Str(&win_ansi(text)));
        self.0.end_text();
    }

    /// Text that ends at `x`; digits, signs and the headings of the columns.
    fn text_to(&mut self, font: Name<'_>, size: f32, (x, y): (f32, f32), text: &str) {
        let width: f32 = text.chars().map(width).sum();
        self.text(font, size, (x - width * size / 1_000.0, y), text);
    }

    fn rule(&mut self, y: f32) {
        self.0.set_line_width(0.5);
        self.0.move_to(LEFT, y);
        self.0.line_to(RIGHT, y);
        self.0.stroke();
    }
}

/// Thousandths of the size that a character of Helvetica is wide, as far as columns to the right need it.
const fn width(letter: char) -> f32 {
    match letter {
        '.' | ' ' | 'i' => 278.0,
        '-' | 'r' | 't' => 333.0,
        's' | 'C' | 'U' | 'D' => 700.0,
        'S' => 667.0,
        _ => 556.0,
    }
}

/// Text in the encoding of the built-in typefaces: Latin-1 and the euro; what they do not have is a question mark.
fn win_ansi(text: &str) -> Vec<u8> {
    let byte = |letter: char| match (letter, u32::from(letter)) {
        ('€', _) => 0x80,
        (_, code @ (0x20..=0x7e | 0xa0..=0xff)) => u8::try_from(code).unwrap_or(b'?'),
        _ => b'?',
    };
    text.chars().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use offhook_domain::Plan;
    use offhook_storage::mint;

    use super::*;

    #[test]
    fn every_line_and_the_total_are_on_the_pages() {
        let at = Timestamp::from_micros(1_777_550_400_123_456);
        let account = Account {
            id: mint(at),
            name: "Peluquería (Ñandú) 東京".to_owned(),
            plan: Plan::Pro,
            engine_module: None,
            created_at: at,
        };
        let invoice = Invoice {
            id: mint(at),
            account_id: account.id,
            month: at.utc_month(),
            number: "INV-202604-00AB".to_owned(),
            status: InvoiceStatus::Open,
            amount_cents: 123_405,
            created_at: at,
            issued_at: Some(at),
        };
        let line = |n: i64| InvoiceLine {
            description: format!("Line {n}"),
            credits: Some(n),
            amount_cents: n * 100 + 5,
            created_at: at,
        };
        let lines: Vec<_> = (0..40).map(line).collect();
        let pdf = render(&account, &invoice, &lines);
        assert!(pdf.starts_with(b"%PDF-1."));
        assert!(pdf.trim_ascii_end().ends_with(b"%%EOF"));
        let has = |text: &[u8]| pdf.windows(text.len()).any(|window| window == text);
        for n in 0..40 {
            assert!(has(format!("(Line {n})").as_bytes()), "{n}");
        }
        for text in [
            "(Open)",
            "(USD 1234.05)",
            "(39.05)",
            "(2026-04-01 to 2026-04-30 (UTC))",
        ] {
            assert!(has(text.as_bytes()), "{text}");
        }
        // A text with other than ASCII letters is written in hexadecimal digits, two for a letter of the typeface's encoding.
        let hex: String = b"Peluquer\xeda"
            .iter()
            .map(|b| format!("{b:02X}"))
            .collect();
        assert!(has(hex.as_bytes()), "Latin letters");
        assert!(has(b"/Count 2"));
        assert_eq!(usd(-5), "-0.05");
    }
}
