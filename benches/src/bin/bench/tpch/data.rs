//! Rows of TPC-H's tables, made here: the distributions that the queries ask for, in words of our own.
//!
//! A row follows from the seed and its number alone, so that new orders and those that go need not be kept.

use crate::measure::Random;

const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "OCEANIA"];
/// Each with its region.
const NATIONS: [(&str, usize); 25] = [
    ("KENYA", 0),
    ("GHANA", 0),
    ("EGYPT", 0),
    ("TUNISIA", 0),
    ("ANGOLA", 0),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("PERU", 1),
    ("CHILE", 1),
    ("CUBA", 1),
    ("INDIA", 2),
    ("JAPAN", 2),
    ("CHINA", 2),
    ("VIETNAM", 2),
    ("NEPAL", 2),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("ITALY", 3),
    ("POLAND", 3),
    ("SPAIN", 3),
    ("FIJI", 4),
    ("SAMOA", 4),
    ("TONGA", 4),
    ("PALAU", 4),
    ("NAURU", 4),
];
const SEGMENTS: [&str; 5] = ["BUILDING", "FARMING", "SHIPPING", "TRADING", "TEACHING"];
const PRIORITIES: [&str; 5] = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NORMAL", "5-LOW"];
const MODES: [&str; 7] = ["MAIL", "SHIP", "RAIL", "TRUCK", "AIR", "BARGE", "POST"];
const INSTRUCTIONS: [&str; 4] = ["DELIVER IN PERSON", "COLLECT", "NONE", "RETURN"];
const MAKES: [&str; 6] = ["PROMO", "ECONOMY", "STANDARD", "SMALL", "MEDIUM", "LARGE"];
const FINISHES: [&str; 5] = ["PLATED", "BRUSHED", "POLISHED", "CAST", "FORGED"];
const METALS: [&str; 5] = ["STEEL", "BRASS", "TIN", "COPPER", "NICKEL"];
const CONTAINER_SIZES: [&str; 5] = ["SM", "MED", "LG", "JUMBO", "WRAP"];
const CONTAINERS: [&str; 8] = ["BOX", "BAG", "CASE", "JAR", "PACK", "DRUM", "CAN", "PKG"];
const COLOURS: [&str; 24] = [
    "amber", "beige", "black", "blue", "bronze", "coral", "cyan", "forest", "gold", "green", "grey", "indigo", "ivory",
    "lime", "mint", "olive", "orange", "pearl", "pink", "plum", "red", "rose", "teal", "white",
];
const WORDS: [&str; 24] = [
    "birds", "rivers", "letters", "wait", "carry", "under", "quiet", "early", "lanterns", "travel", "beside", "stones",
    "slowly", "bright", "tables", "follow", "across", "winter", "copper", "gather", "after", "markets", "along",
    "turn",
];
/// 1992-01-01, in days since 1970.
const FIRST_DAY: u64 = 8_035;
/// Orders come over so many days.
const ORDER_DAYS: u64 = 2_405;
/// 1995-06-17, in days after the first: what has arrived by then is settled.
const TODAY: u64 = 1_263;

/// How large the tables are, and the seed of their rows.
#[derive(Clone, Copy)]
pub struct Data {
    /// Of all choices.
    pub seed: u64,
    /// How many.
    pub suppliers: u64,
    /// How many.
    pub customers: u64,
    /// How many.
    pub parts: u64,
    /// How many at the beginning, numbered from 1.
    pub orders: u64,
}

/// An order's line of COPY, and its lines'.
pub struct Order {
    /// Of `orders`.
    pub order: String,
    /// Of `lineitem`.
    pub lines: Vec<String>,
}

impl Data {
    /// At a scale of which 1 is six million lines.
    pub fn new(scale: f64, seed: u64) -> Data {
        let scaled = |number: f64| ((number * scale) as u64).max(8);
        Data {
            seed,
            suppliers: scaled(10_000.0),
            customers: scaled(150_000.0),
            parts: scaled(200_000.0),
            orders: scaled(1_500_000.0),
        }
    }

    fn random(&self, table: u64, row: u64) -> Random {
        let mut random = Random::new((self.seed * 16 + table) * 1_000_000_007 + row);
        // The first numbers of neighbours are alike.
        random.below(2);
        random.below(2);
        random
    }

    /// The tables that do not change, with their lines of COPY.
    pub fn tables(&self) -> [(&'static str, Vec<String>); 6] {
        let lines = |count: u64, line: &dyn Fn(u64) -> String| (1..=count).map(line).collect::<Vec<_>>();
        let regions = REGIONS.iter().enumerate().map(|(key, name)| format!("{key}\t{name}\ta part of the world"));
        let nations =
            NATIONS.iter().enumerate().map(|(key, (name, region))| format!("{key}\t{name}\t{region}\ta land"));
        let supplies = (1..=self.parts).flat_map(|part| (0..4).map(move |place| self.supply(part, place)));
        [
            ("region", regions.collect()),
            ("nation", nations.collect()),
            ("supplier", lines(self.suppliers, &|key| self.supplier(key))),
            ("customer", lines(self.customers, &|key| self.customer(key))),
            ("part", lines(self.parts, &|key| self.part(key))),
            ("partsupp", supplies.collect()),
        ]
    }

    fn supplier(&self, key: u64) -> String {
        let mut random = self.random(1, key);
        let nation = random.below(25);
        let comment = match random.below(50) {
            0 => "a Customer wrote Complaints".to_string(),
            _ => words(&mut random, 6),
        };
        let (address, phone, balance) = (words(&mut random, 2), phone(nation, &mut random), balance(&mut random));
        format!("{key}\tSupplier#{key:09}\t{address}\t{nation}\t{phone}\t{balance}\t{comment}")
    }

    fn customer(&self, key: u64) -> String {
        let mut random = self.random(2, key);
        let nation = random.below(25);
        let (address, phone, balance) = (words(&mut random, 2), phone(nation, &mut random), balance(&mut random));
        let (segment, comment) = (one_of(&SEGMENTS, &mut random), words(&mut random, 8));
        format!("{key}\tCustomer#{key:09}\t{address}\t{nation}\t{phone}\t{balance}\t{segment}\t{comment}")
    }

    fn part(&self, key: u64) -> String {
        let mut random = self.random(3, key);
        let name: Vec<&str> = (0..4).map(|_| one_of(&COLOURS, &mut random)).collect();
        let maker = 1 + random.below(5);
        let brand = maker * 10 + 1 + random.below(5);
        let kind = [&MAKES[..], &FINISHES, &METALS].map(|list| one_of(list, &mut random)).join(" ");
        let size = 1 + random.below(50);
        let container = [&CONTAINER_SIZES[..], &CONTAINERS].map(|list| one_of(list, &mut random)).join(" ");
        let (price, comment) = (money(price(key)), words(&mut random, 3));
        let name = name.join(" ");
        format!("{key}\t{name}\tMaker#{maker}\tBrand#{brand}\t{kind}\t{size}\t{container}\t{price}\t{comment}")
    }

    /// The supplier of a part at one of four places.
    fn supplier_of(&self, part: u64, place: u64) -> u64 {
        1 + (part * 7 + place * (self.suppliers / 4)) % self.suppliers
    }

    fn supply(&self, part: u64, place: u64) -> String {
        let mut random = self.random(4, part * 4 + place);
        let supplier = self.supplier_of(part, place);
        let (available, cost) = (1 + random.below(9_999), money(100 + random.below(99_900)));
        format!("{part}\t{supplier}\t{available}\t{cost}\t{}", words(&mut random, 10))
    }

    /// An order with its lines, old or new.
    pub fn order(&self, key: u64) -> Order {
        let mut random = self.random(5, key);
        // A third of the customers never order.
        let customer = random.below(self.customers * 2 / 3);
        let customer = customer / 2 * 3 + 1 + customer % 2;
        let ordered = random.below(ORDER_DAYS);
        let (mut total, mut open) = (0, 0);
        let count = 1 + random.below(7);
        let lines = (1..=count).map(|number| {
            let line = self.line(key, number, ordered, &mut random);
            total += line.charged;
            open += u64::from(line.is_open);
            line.text
        });
        let lines: Vec<String> = lines.collect();
        let status = match open {
            0 => "F",
            open if open == count => "O",
            _ => "P",
        };
        let (priority, clerk) = (one_of(&PRIORITIES, &mut random), 1 + random.below(1_000));
        let comment = match random.below(40) {
            0 => format!("{} special {} requests", words(&mut random, 1), words(&mut random, 1)),
            _ => words(&mut random, 5),
        };
        let order = format!(
            "{key}\t{customer}\t{status}\t{}\t{}\t{priority}\tClerk#{clerk:09}\t0\t{comment}",
            money(total),
            day(ordered)
        );
        Order { order, lines }
    }

    fn line(&self, order: u64, number: u64, ordered: u64, random: &mut Random) -> Line {
        let part = 1 + random.below(self.parts);
        let supplier = self.supplier_of(part, random.below(4));
        let quantity = 1 + random.below(50);
        let extended = quantity * price(part);
        let (discount, tax) = (random.below(11), random.below(9));
        let shipped = ordered + 1 + random.below(121);
        let committed = ordered + 30 + random.below(61);
        let received = shipped + 1 + random.below(30);
        let is_open = shipped > TODAY;
        let flag = match received <= TODAY {
            true => ["R", "A"][random.below(2) as usize],
            false => "N",
        };
        let status = if is_open { "O" } else { "F" };
        let text = format!(
            "{order}\t{part}\t{supplier}\t{number}\t{quantity}\t{}\t0.{discount:02}\t0.{tax:02}\t{flag}\t{status}\t{}\t{}\t{}\t{}\t{}\t{}",
            money(extended),
            day(shipped),
            day(committed),
            day(received),
            one_of(&INSTRUCTIONS, random),
            one_of(&MODES, random),
            words(random, 3)
        );
        Line { text, charged: extended * (100 - discount) * (100 + tax) / 10_000, is_open }
    }
}

/// A line of an order.
struct Line {
    text: String,
    /// In cents.
    charged: u64,
    is_open: bool,
}

fn one_of<'a>(list: &[&'a str], random: &mut Random) -> &'a str {
    list[random.below(list.len() as u64) as usize]
}

fn words(random: &mut Random, count: u64) -> String {
    (0..count).map(|_| one_of(&WORDS, random)).collect::<Vec<_>>().join(" ")
}

/// A part's price, in cents.
fn price(part: u64) -> u64 {
    90_000 + part / 10 % 20_001 + 100 * (part % 1_000)
}

fn money(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// From -999.99 on.
fn balance(random: &mut Random) -> String {
    let cents = random.below(1_099_999) as i64 - 99_999;
    format!("{}{}.{:02}", if cents < 0 { "-" } else { "" }, cents.abs() / 100, cents.abs() % 100)
}

/// It begins with a number of the nation.
fn phone(nation: u64, random: &mut Random) -> String {
    format!("{}-{:03}-{:03}-{:04}", 10 + nation, random.below(1_000), random.below(1_000), random.below(10_000))
}

/// A day as SQL writes it. The calendar counts from March, so that a leap day is the last of its year.
fn day(after_first: u64) -> String {
    let days = FIRST_DAY + after_first + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (1 + of_year - (153 * month + 2) / 5, if month < 10 { month + 3 } else { month - 9 });
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + u64::from(month <= 2))
}

#[cfg(test)]
mod tests {
    use super::{ORDER_DAYS, TODAY, day};

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(day(0), "1992-01-01");
        assert_eq!(day(59), "1992-02-29");
        assert_eq!(day(366), "1993-01-01");
        assert_eq!(day(TODAY), "1995-06-17");
        assert_eq!(day(ORDER_DAYS), "1998-08-02");
    }
}
