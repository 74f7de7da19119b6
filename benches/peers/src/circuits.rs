//! Nexmark's queries as circuits of dbsp: what its SQL compiler would make of them, by hand.

use std::error::Error;
use std::fmt;

use dbsp::operator::Max;
use dbsp::typed_batch::IndexedZSetReader;
use dbsp::utils::{Tup2, Tup3, Tup4, Tup5};
use dbsp::{DBData, OrdZSet, RootCircuit, Stream, ZSetHandle};

use crate::events::{Auction, Bid, Person};

/// Ten and two seconds, in microseconds. 2020-01-01 begins both.
const TEN: i64 = 10_000_000;
const TWO: i64 = 2_000_000;
const STATES: [&str; 3] = ["OR", "ID", "CA"];

/// Where events come in.
pub struct Inputs {
    /// New ones.
    pub persons: ZSetHandle<Person>,
    /// New ones.
    pub auctions: ZSetHandle<Auction>,
    /// New ones.
    pub bids: ZSetHandle<Bid>,
}

/// What the last transaction changed of the view: rows with tabs between their cells, and how many came or went.
pub type View = Box<dyn Fn() -> Vec<(String, i64)> + Send>;

type Persons = Stream<RootCircuit, OrdZSet<Person>>;
type Auctions = Stream<RootCircuit, OrdZSet<Auction>>;
type Bids = Stream<RootCircuit, OrdZSet<Bid>>;

/// There is no query of this name.
#[derive(Debug)]
pub struct UnknownQuery(String);

impl fmt::Display for UnknownQuery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "there is no query {}", self.0)
    }
}

impl Error for UnknownQuery {}

/// The circuit of a query.
pub fn build(circuit: &mut RootCircuit, query: &str) -> Result<(Inputs, View), UnknownQuery> {
    let (persons, to_persons) = circuit.add_input_zset::<Person>();
    let (auctions, to_auctions) = circuit.add_input_zset::<Auction>();
    let (bids, to_bids) = circuit.add_input_zset::<Bid>();
    let view = match query {
        "q0" => watch(&bids.map(Clone::clone), |Tup5(number, auction, bidder, price, at)| {
            format!("{number}\t{auction}\t{bidder}\t{price}\t{at}")
        }),
        "q1" => watch(
            &bids.map(|Tup5(number, auction, bidder, price, at)| Tup5(*number, *auction, *bidder, price * 908, *at)),
            |Tup5(number, auction, bidder, price, at)| format!("{number}\t{auction}\t{bidder}\t{price}\t{at}"),
        ),
        "q2" => watch(
            &bids
                .filter(|Tup5(_, auction, ..)| auction % 123 == 0)
                .map(|Tup5(number, auction, _, price, _)| Tup3(*number, *auction, *price)),
            |Tup3(number, auction, price)| format!("{number}\t{auction}\t{price}"),
        ),
        "q3" => local_sellers(&persons, &auctions),
        "q4" => means_by_category(&auctions, &bids),
        "q5" => hot_auctions(&bids),
        "q6" => means_by_seller(&auctions, &bids),
        "q7" => highest_bids(&bids),
        "q8" => new_sellers(&persons, &auctions),
        other => return Err(UnknownQuery(other.into())),
    };
    Ok((Inputs { persons: to_persons, auctions: to_auctions, bids: to_bids }, view))
}

/// The changes of a view as text.
fn watch<T: DBData>(view: &Stream<RootCircuit, OrdZSet<T>>, line: fn(&T) -> String) -> View {
    let output = view.accumulate_output();
    Box::new(move || output.concat().consolidate().iter().map(|(row, (), weight)| (line(&row), weight)).collect())
}

fn local_sellers(persons: &Persons, auctions: &Auctions) -> View {
    let local = persons
        .filter(|Tup5(_, _, _, state, _)| STATES.contains(&state.as_str()))
        .map_index(|Tup5(id, name, city, state, _)| (*id, Tup3(name.clone(), city.clone(), state.clone())));
    let offered =
        auctions.filter(|Tup5(_, _, category, ..)| *category == 10).map_index(|Tup5(id, seller, ..)| (*seller, *id));
    let view =
        local.join(&offered, |_, Tup3(name, city, state), id| Tup4(name.clone(), city.clone(), state.clone(), *id));
    watch(&view, |Tup4(name, city, state, id)| format!("{name}\t{city}\t{state}\t{id}"))
}

/// The highest bid of each auction while it was open, with its number, seller, category and end.
fn won(auctions: &Auctions, bids: &Bids) -> Stream<RootCircuit, dbsp::OrdIndexedZSet<Tup4<i64, i64, i64, i64>, i64>> {
    let offered =
        auctions.map_index(|Tup5(id, seller, category, at, expires)| (*id, Tup4(*seller, *category, *at, *expires)));
    let offers = bids.map_index(|Tup5(_, auction, _, price, at)| (*auction, Tup2(*price, *at)));
    let valid = offered.join_flatmap(&offers, |id, Tup4(seller, category, opened, expires), Tup2(price, at)| {
        (at >= opened && at <= expires).then_some(Tup5(*id, *seller, *category, *expires, *price))
    });
    valid
        .map_index(|Tup5(id, seller, category, expires, price)| (Tup4(*id, *seller, *category, *expires), *price))
        .aggregate(Max)
}

fn means_by_category(auctions: &Auctions, bids: &Bids) -> View {
    let means =
        won(auctions, bids).map_index(|(Tup4(_, _, category, _), price)| (*category, *price)).average(|price| *price);
    watch(&means.map(|(category, mean)| Tup2(*category, *mean)), |Tup2(category, mean)| format!("{category}\t{mean}"))
}

fn means_by_seller(auctions: &Auctions, bids: &Bids) -> View {
    let last = won(auctions, bids)
        .map_index(|(Tup4(id, seller, _, expires), price)| (*seller, Tup3(*expires, *id, *price)))
        .topk_desc(10);
    let means = last.map_index(|(seller, Tup3(_, _, price))| (*seller, *price)).average(|price| *price);
    watch(&means.map(|(seller, mean)| Tup2(*seller, *mean)), |Tup2(seller, mean)| format!("{seller}\t{mean}"))
}

fn hot_auctions(bids: &Bids) -> View {
    let counted = bids
        .flat_map(|Tup5(_, auction, _, _, at)| {
            let (auction, last) = (*auction, at - at % TWO);
            (0..5).map(move |back| Tup2(last - back * TWO, auction))
        })
        .map_index(|Tup2(starts, auction)| (Tup2(*starts, *auction), ()))
        .aggregate_linear(|()| 1_i64);
    let most = counted.map_index(|(Tup2(starts, _), bids)| (*starts, *bids)).aggregate(Max);
    let view = counted
        .map_index(|(Tup2(starts, auction), bids)| (Tup2(*starts, *bids), *auction))
        .join(&most.map_index(|(starts, bids)| (Tup2(*starts, *bids), ())), |Tup2(starts, bids), auction, ()| {
            Tup3(*starts, *auction, *bids)
        });
    watch(&view, |Tup3(starts, auction, bids)| format!("{starts}\t{auction}\t{bids}"))
}

fn highest_bids(bids: &Bids) -> View {
    let highest = bids.map_index(|Tup5(_, _, _, price, at)| (at - at % TEN, *price)).aggregate(Max);
    let by_price = bids.map_index(|Tup5(number, auction, bidder, price, at)| {
        (Tup2(at - at % TEN, *price), Tup4(*number, *auction, *bidder, *at))
    });
    let view = by_price.join(
        &highest.map_index(|(starts, price)| (Tup2(*starts, *price), ())),
        |Tup2(_, price), Tup4(number, auction, bidder, at), ()| Tup5(*number, *auction, *bidder, *price, *at),
    );
    watch(&view, |Tup5(number, auction, bidder, price, at)| format!("{number}\t{auction}\t{bidder}\t{price}\t{at}"))
}

fn new_sellers(persons: &Persons, auctions: &Auctions) -> View {
    let sold = auctions.map(|Tup5(_, seller, _, at, _)| Tup2(*seller, at - at % TEN)).distinct();
    let view = persons
        .map_index(|Tup5(id, name, _, _, at)| (Tup2(*id, at - at % TEN), name.clone()))
        .join(&sold.map_index(|sold| (*sold, ())), |Tup2(id, starts), name, ()| Tup3(*id, name.clone(), *starts));
    watch(&view, |Tup3(id, name, starts)| format!("{id}\t{name}\t{starts}"))
}
