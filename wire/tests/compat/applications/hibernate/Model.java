import jakarta.persistence.*;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.hibernate.annotations.Check;
import org.hibernate.annotations.ColumnDefault;
import org.hibernate.annotations.Formula;
import org.hibernate.annotations.Generated;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.annotations.SQLRestriction;
import org.hibernate.annotations.SoftDelete;
import org.hibernate.type.SqlTypes;

/** Entities with what Hibernate maps on PostgreSQL: kinds of keys, enums, arrays, documents, inheritance, collections. */
final class Model {
    private Model() {}

    enum Role { READER, WRITER }

    @Embeddable
    record Address(String street, @Column(length = 10) String code) {}

    @Entity(name = "Author")
    @Table(name = "authors", uniqueConstraints = @UniqueConstraint(name = "author_email", columnNames = "email"), indexes = @Index(name = "author_name", columnList = "name desc"))
    @Check(name = "author_age", constraints = "age >= 0")
    static class Author {
        @Id @GeneratedValue UUID id;
        @Column(nullable = false, length = 60) String name;
        String email;
        @ColumnDefault("18") int age;
        @Enumerated(EnumType.STRING) Role role = Role.READER;
        @JdbcTypeCode(SqlTypes.JSON) Map<String, Object> settings = new HashMap<>();
        List<String> tags = new ArrayList<>();
        int[] numbers = {};
        LocalDate born;
        Instant since;
        @JdbcTypeCode(SqlTypes.INTERVAL_SECOND) Duration online;
        byte[] picture;
        Address address;
        @Version int version;
        @ElementCollection @CollectionTable(name = "author_phones") @MapKeyColumn(name = "kind") Map<String, String> phones = new HashMap<>();
        @OneToMany(mappedBy = "author", cascade = CascadeType.ALL, orphanRemoval = true) @OrderBy("title") List<Book> books = new ArrayList<>();
        @Formula("upper(name)") String shout;
    }

    @Entity(name = "Book")
    @Table(name = "books")
    @SQLRestriction("title <> 'hidden'")
    static class Book {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "book_ids") @SequenceGenerator(name = "book_ids", sequenceName = "book_ids", allocationSize = 20) Long id;
        @Column(nullable = false) String title;
        @Column(precision = 10, scale = 2) BigDecimal price;
        @Generated @Column(columnDefinition = "integer generated always as (length(title)) stored", insertable = false, updatable = false) Integer letters;
        @ManyToOne(fetch = FetchType.LAZY, optional = false) @JoinColumn(foreignKey = @ForeignKey(name = "book_author")) Author author;
        @ManyToMany @JoinTable(name = "book_subjects") Set<Subject> subjects = new HashSet<>();
    }

    @Entity(name = "Subject")
    @Table(schema = "library", name = "subjects")
    static class Subject {
        @Id String code;

        Subject() {}

        Subject(String code) {
            this.code = code;
        }
    }

    @Entity(name = "Item")
    @Inheritance(strategy = InheritanceType.JOINED)
    @SoftDelete
    static class Item {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        String label;
    }

    @Entity(name = "Map")
    static class Atlas extends Item {
        double scale;
    }

    @Entity(name = "Payment")
    @Inheritance(strategy = InheritanceType.SINGLE_TABLE)
    abstract static class Payment {
        @Id @GeneratedValue long id;
        boolean done;
    }

    @Entity(name = "Card")
    static class Card extends Payment {
        String number;
    }

    /** By itself: an update drops its type with the column, and makes both anew. */
    @Entity(name = "Opinion")
    static class Opinion {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        @JdbcTypeCode(SqlTypes.NAMED_ENUM) Role role;

        Opinion() {}

        Opinion(Role role) {
            this.role = role;
        }
    }

    static final List<Class<?>> ENTITIES = List.of(Author.class, Book.class, Subject.class, Item.class, Atlas.class, Payment.class, Card.class);
}
