//! Text, dates, intervals and jsonb against a table that PostgreSQL 15 made (operation, arguments, result or error).

mod support;

use repr::datetime::parse::DateContext;
use repr::datetime::{self, Zone, arithmetic, fields};
use repr::interval::IntervalStyle;
use repr::text::TextContext;
use repr::types::{encode_interval_modifier, encode_length_modifier};
use repr::{Datum, Interval, Jsonb, MacAddress, Numeric, ScalarType, ValueError, text};
use support::{KINDS, Random};

fn column_type(name: &str) -> (ScalarType, i32) {
    if let Some(element) = name.strip_suffix("[]") {
        let (scalar, modifier) = column_type(element);
        return (scalar.array(), modifier);
    }
    if let Some(rest) = name.strip_prefix("interval") {
        let (spelling, precision) = rest.split_once('(').unwrap_or((rest, ")"));
        let precision = precision.trim_end_matches(')').parse().ok();
        return (ScalarType::Interval, encode_interval_modifier(spelling.trim(), precision).expect("known"));
    }
    let (base, modifier) = match name.split_once('(') {
        None => (name, -1),
        Some((base, rest)) => (base, rest.trim_end_matches(')').parse().expect("a number")),
    };
    let scalar = ScalarType::from_name(base).unwrap_or_else(|| panic!("type {base}"));
    let is_bounded = matches!(scalar, ScalarType::Varchar | ScalarType::Bpchar) && modifier > 0;
    let modifier =
        if is_bounded { encode_length_modifier(i64::from(modifier), "x").expect("in range") } else { modifier };
    (scalar, modifier)
}

fn shown(datum: Option<impl ToString>) -> String {
    datum.map_or("<NULL>".to_owned(), |value| value.to_string())
}

fn cast(name: &str, input: &str) -> Result<String, ValueError> {
    let (scalar, modifier) = column_type(name);
    let context = TextContext::default();
    let datum = match scalar {
        ScalarType::Varchar | ScalarType::Bpchar => text::cast_length(&scalar, modifier, input),
        _ => text::parse(&scalar, modifier, input, &context)?,
    };
    let out = text::format(&datum, &scalar, &context);
    let out = match scalar {
        // Casts to text: booleans are spelled out, blanks at the end of character(n) go.
        ScalarType::Bool => {
            if out == "t" {
                "true".to_owned()
            } else {
                "false".to_owned()
            }
        }
        ScalarType::Bpchar => out.trim_end_matches(' ').to_owned(),
        _ => out,
    };
    let again = text::parse(&scalar, -1, &text::format(&datum, &scalar, &context), &context)?;
    assert!(again.sql_eq(&datum), "{name} {input:?} reads back: {again:?} {datum:?}");
    Ok(out)
}

fn jsonb(operation: &str, a: &str, b: &str) -> Result<String, ValueError> {
    let value: Jsonb = a.parse()?;
    let (verb, argument) = operation.split_once(' ').unwrap_or((operation, ""));
    let path: Vec<&str> = argument.split(',').collect();
    let other = || b.parse::<Jsonb>();
    let index = || argument.parse::<i64>().expect("an integer");
    Ok(match verb {
        "get" => shown(value.get(argument)),
        "gettext" => shown(value.get_text(argument)),
        "idx" => shown(value.get_index(index())),
        "idxtext" => shown(value.get_index_text(index())),
        "path" => shown(value.get_path(&path)),
        "pathtext" => shown(value.get_path(&path).and_then(Jsonb::as_text)),
        "exists" => value.exists(argument).to_string(),
        "del" => value.delete_key(argument)?.to_string(),
        "delidx" => value.delete_index(index())?.to_string(),
        "delpath" => value.delete_path(&path)?.to_string(),
        "contains" => value.contains(&other()?).to_string(),
        "concat" => value.concat(&other()?).to_string(),
        "cmp" => (value.sql_cmp(&other()?) as i8).to_string(),
        "set" => value.set(&path, &other()?, true)?.to_string(),
        "setno" => value.set(&path, &other()?, false)?.to_string(),
        "insert" => value.insert(&path, &other()?, false)?.to_string(),
        "insertafter" => value.insert(&path, &other()?, true)?.to_string(),
        "typeof" => value.type_name().to_owned(),
        "array_length" => value.array_length()?.to_string(),
        "strip_nulls" => value.strip_nulls().to_string(),
        "pretty" => value.pretty().replace('\n', "|"),
        unknown => panic!("unknown operation {unknown}"),
    })
}

fn evaluate(operation: &str, a: &str, b: &str) -> Result<String, ValueError> {
    let context = DateContext::default();
    let timestamp = |text: &str| datetime::parse::parse_timestamp(text, &context);
    let timestamptz = |text: &str| datetime::parse::parse_timestamptz(text, &context);
    let interval = |text: &str| text.parse::<Interval>();
    let new_york = || Zone::parse("America/New_York");
    let words: Vec<&str> = operation.splitn(3, ' ').collect();
    let field = words.get(1).copied().unwrap_or("");
    Ok(match words[0] {
        "cast" => cast(a, b)?,
        "jsonb" => jsonb(&operation[6..], a, b)?,
        "extract" => {
            let name = words[2];
            let value: Option<Numeric> = match field {
                "timestamp" => fields::extract_timestamp(name, timestamp(a)?)?,
                "timestamptz" => fields::extract_timestamptz(name, timestamptz(a)?, &Zone::utc())?,
                "date" => fields::extract_date(name, datetime::parse::parse_date(a, &context)?)?,
                "time" => fields::extract_time(name, datetime::parse::parse_time(a, &context)?)?,
                _ => fields::extract_interval(name, &interval(a)?)?,
            };
            shown(value)
        }
        "trunc" => datetime::format_timestamp(fields::trunc_timestamp(field, timestamp(a)?)?),
        "trunctz" => {
            datetime::format_timestamptz(fields::trunc_timestamptz(field, timestamptz(a)?, &new_york()?)?, &Zone::utc())
        }
        "trunciv" => fields::trunc_interval(field, &interval(a)?)?.to_string(),
        "justify_hours" => interval(a)?.justify_hours()?.to_string(),
        "justify_days" => interval(a)?.justify_days()?.to_string(),
        "justify_interval" => interval(a)?.justify_interval()?.to_string(),
        "ivmul" => interval(a)?.mul(b.parse().expect("a float"))?.to_string(),
        "ivdiv" => interval(a)?.div(b.parse().expect("a float"))?.to_string(),
        "ivadd" => interval(a)?.add(&interval(b)?)?.to_string(),
        "ivcmp" => (interval(a)?.sql_cmp(&interval(b)?) as i8).to_string(),
        "ivsql" => Interval::parse(a, -1, IntervalStyle::SqlStandard)?.to_string(),
        "style" => interval(a)?.format(match field {
            "iso_8601" => IntervalStyle::Iso8601,
            "sql_standard" => IntervalStyle::SqlStandard,
            _ => IntervalStyle::PostgresVerbose,
        }),
        "tsadd" => datetime::format_timestamp(arithmetic::timestamp_add(timestamp(a)?, &interval(b)?)?),
        "tztadd" => {
            let local = DateContext { zone: new_york()?, ..DateContext::default() };
            let moment = timestamptz(a)?;
            datetime::format_timestamptz(arithmetic::timestamptz_add(moment, &interval(b)?, &local.zone)?, &local.zone)
        }
        "tssub" => arithmetic::timestamp_sub(timestamp(a)?, timestamp(b)?)?.to_string(),
        "age" => arithmetic::age(timestamp(a)?, timestamp(b)?)?.to_string(),
        "atzone" => datetime::format_timestamptz(Zone::parse(b)?.to_utc(timestamp(a)?)?, &Zone::utc()),
        "atzonetz" => datetime::format_timestamp(Zone::parse(b)?.to_local(timestamptz(a)?)?),
        "to_char" => repr::to_char::timestamp_to_char(timestamp(a)?, b)?.unwrap_or("<NULL>".to_owned()),
        "to_chariv" => repr::to_char::interval_to_char(&interval(a)?, b)?.unwrap_or("<NULL>".to_owned()),
        "to_charint4" => repr::to_char::integer_to_char(a.parse().expect("an integer"), b)?,
        "to_charint8" => repr::to_char::bigint_to_char(a.parse().expect("a bigint"), b)?,
        "to_charfloat4" => repr::to_char::float_to_char(a.parse().expect("a real"), true, b)?,
        "to_charfloat8" => repr::to_char::float_to_char(a.parse().expect("a float"), false, b)?,
        "to_charnum" => repr::to_char::numeric_to_char(&a.parse()?, b)?,
        "to_date" => datetime::format_date(repr::to_char::to_date(a, b)?),
        "to_timestamp" => datetime::format_timestamptz(repr::to_char::to_timestamp(a, b, &Zone::utc())?, &Zone::utc()),
        "to_number" => shown(repr::to_char::to_number(a, b)?),
        unknown => panic!("unknown operation {unknown}"),
    })
}

fn check(table: &str) {
    let mut wrong = Vec::new();
    let plain = |text: &str| text.replace("\\n", "\n").replace("\\t", "\t").replace("\\b", "\\");
    for line in table.lines() {
        let parts: Vec<String> = line.split('\t').map(plain).collect();
        let got = evaluate(&parts[0], &parts[1], &parts[2]).unwrap_or_else(|error| {
            let detail = error.detail.as_ref().map_or(String::new(), |detail| format!(" / {detail}"));
            let hint = error.hint.as_ref().map_or(String::new(), |hint| format!(" // {hint}"));
            format!("ERROR {} {}{detail}{hint}", error.code, error.message)
        });
        if got != parts[3] {
            wrong.push(format!("{line}\n    got {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn results_are_postgresqls() {
    check(include_str!("golden/text.tsv"));
}

#[test]
fn templates_give_postgresqls_results() {
    check(include_str!("golden/to_char.tsv"));
}

#[test]
fn formatted_values_read_back() {
    let types = [
        ScalarType::Bool,
        ScalarType::Int8,
        ScalarType::Float8,
        ScalarType::Numeric,
        ScalarType::Text,
        ScalarType::Text,
        ScalarType::Bytea,
        ScalarType::Date,
        ScalarType::Time,
        ScalarType::Timestamp,
        ScalarType::Timestamptz,
        ScalarType::Interval,
        ScalarType::Uuid,
        ScalarType::Jsonb,
        ScalarType::Inet,
    ];
    let context = TextContext::default();
    let mut random = Random(5);
    for kind in (0..KINDS).filter(|kind| *kind < 15 || (23..27).contains(kind)) {
        for _ in 0..1_000 {
            let datum = random.datum(kind);
            let scalar = match &datum {
                Datum::Float4(_) => ScalarType::Float4,
                Datum::Bpchar(_) => ScalarType::Bpchar,
                Datum::Bits(_) => ScalarType::VarBit,
                Datum::MacAddress(MacAddress::Six(_)) => ScalarType::MacAddr,
                Datum::MacAddress(MacAddress::Eight(_)) => ScalarType::MacAddr8,
                Datum::Money(_) => ScalarType::Money,
                Datum::Null if kind >= 15 => continue,
                _ => types[kind as usize].clone(),
            };
            let written = text::format(&datum, &scalar, &context);
            if !datum.is_null() {
                let read = text::parse(&scalar, -1, &written, &context);
                assert!(read.as_ref().is_ok_and(|read| read.sql_eq(&datum)), "{written:?} {datum:?} {read:?}");
            }
            let array = Datum::Array(std::sync::Arc::new(repr::Array::vector(vec![datum.clone(), Datum::Null, datum])));
            let written = text::format(&array, &scalar.array(), &context);
            let read = text::parse(&scalar.array(), -1, &written, &context);
            assert!(read.as_ref().is_ok_and(|read| read.sql_eq(&array)), "{written:?} {array:?} {read:?}");
        }
    }
}

#[test]
fn no_text_makes_input_panic() {
    let mut random = Random(6);
    let alphabet: Vec<char> = "0123456789-+:. /TZPYMDHSeE{}[]()\",\\=abcJinfty@é".chars().collect();
    let context = TextContext { now: Some(0), ..TextContext::default() };
    let types: Vec<ScalarType> = (1..=9_999)
        .filter_map(ScalarType::from_oid)
        .filter(|of| !of.is_array())
        .chain([ScalarType::Citext, ScalarType::Hstore])
        .collect();
    assert!(types.len() > 40, "the table of types was found by its OIDs");
    for _ in 0..30_000 {
        let length = random.below(14);
        let input: String = (0..length).map(|_| alphabet[random.below(alphabet.len() as u64) as usize]).collect();
        for scalar in &types {
            let _ = text::parse(scalar, -1, &input, &context);
        }
        let _ = text::parse(&ScalarType::Int4.array(), -1, &input, &context);
        let template: String = (0..6)
            .map(|_| {
                ["9", "0", "V", "EEEE", "FM", "YYYY", "DD", "é", "\"", "S", "TH", "HH24", "-", "RN", "."]
                    [random.below(15) as usize]
            })
            .collect();
        let _ = repr::to_char::to_date(&input, &template);
        let _ = repr::to_char::to_timestamp(&input, &template, &Zone::utc());
        let _ = repr::to_char::to_number(&input, &template);
        let _ = repr::to_char::timestamp_to_char(random.int() >> 7, &template);
        let _ = repr::to_char::numeric_to_char(&random.numeric(), &template);
        let _ = text::parse(&ScalarType::Text.array(), -1, &input, &context);
    }
}

/// Some characters of any width, with what templates mean something by between them.
fn hostile_text(random: &mut Random, length_max: u64) -> String {
    let words = ["9", "0", "V", "EEEE", "FM", "YYYY", "DD", "\"", "\\", "S", "TH", "HH24", "RN", ".", "PR", "TM", "FX"];
    let mut out = String::new();
    while (out.chars().count() as u64) < length_max && random.below(20) > 0 {
        match random.below(3) {
            0 => out.push_str(words[random.below(words.len() as u64) as usize]),
            1 => out.push(char::from(random.below(128) as u8)),
            _ => out.extend(char::from_u32(random.below(0x2_0000) as u32)),
        }
    }
    out
}

fn by_template(random: &mut Random, input: &str, template: &str) {
    use repr::to_char;
    let _ = to_char::to_date(input, template);
    let _ = to_char::to_timestamp(input, template, &Zone::utc());
    let _ = to_char::to_number(input, template);
    let _ = to_char::timestamp_to_char(random.int() >> 7, template);
    let span = Interval { months: random.int() as i32, days: random.int() as i32, micros: random.int() };
    let _ = to_char::interval_to_char(&span, template);
    let _ = to_char::numeric_to_char(&random.numeric(), template);
    let _ = to_char::integer_to_char(random.int() >> 32, template);
    let _ = to_char::bigint_to_char(random.int(), template);
    let _ = to_char::float_to_char(f64::from_bits(random.bits()), false, template);
    let _ = to_char::float_to_char(f64::from(f32::from_bits(random.bits() as u32)), true, template);
}

#[test]
fn no_template_makes_formatting_panic() {
    let mut random = Random(11);
    for _ in 0..20_000 {
        let (input, template) = (hostile_text(&mut random, 60), hostile_text(&mut random, 60));
        by_template(&mut random, &input, &template);
    }
    // Longer than any width, precision or scale.
    for word in ["9", "0", "9.", "V9", "99V", ",", "L", "é", "\"", "TH", "YYYY", "FMDD", "J", "US", " "] {
        for count in [2_000, 70_000] {
            let long = word.repeat(count);
            for template in [long.clone(), format!("9.{long}"), format!("9V{long}"), format!("9.{long}EEEE")] {
                by_template(&mut random, "1.5-3", &template);
                by_template(&mut random, &long, &template);
            }
        }
    }
}
