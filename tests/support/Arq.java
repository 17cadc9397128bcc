import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.jena.atlas.json.JSON;
import org.apache.jena.atlas.json.JsonArray;
import org.apache.jena.atlas.json.JsonObject;
import org.apache.jena.graph.Node;
import org.apache.jena.query.ARQ;
import org.apache.jena.query.Query;
import org.apache.jena.query.QueryFactory;
import org.apache.jena.query.Syntax;
import org.apache.jena.riot.Lang;
import org.apache.jena.riot.RDFParser;
import org.apache.jena.riot.lang.LabelToNode;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.core.DatasetGraphFactory;
import org.apache.jena.sparql.core.Var;
import org.apache.jena.sparql.engine.binding.Binding;
import org.apache.jena.sparql.exec.QueryExec;
import org.apache.jena.sparql.exec.RowSet;
import org.apache.jena.sparql.expr.Expr;
import org.apache.jena.sparql.expr.ExprEvalException;
import org.apache.jena.sparql.function.FunctionEnv;
import org.apache.jena.sparql.function.FunctionEnvBase;

/** Answers SPARQL by Jena ARQ. Each request is one line of JSON: {"graph": N-Triples}, {"query": SELECT},
 * {"cells": SELECT without groups, whose expressions are evaluated one by one}. So is each answer: {}, {"error": text}
 * or {"variables": names, "rows": [[term, ...], ...]}. ARQ's extensions of SPARQL are off. */
public class Arq {
    private static final String BASE = "http://e/base/";
    private static DatasetGraph data = DatasetGraphFactory.createTxnMem();

    public static void main(String[] arguments) throws Exception {
        ARQ.init();
        ARQ.setStrictMode(ARQ.getContext());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonObject answer;
            try {
                answer = answered(JSON.parse(line));
            } catch (Exception | StackOverflowError error) {
                answer = new JsonObject();
                answer.put("error", error.toString());
            }
            out.println(JSON.toStringFlat(answer));
        }
    }

    private static JsonObject answered(JsonObject request) {
        if (request.hasKey("graph")) return load(request.getString("graph"));
        return request.hasKey("cells") ? cells(request.getString("cells")) : select(request.getString("query"));
    }

    /** Takes a graph in the place of the one before. */
    private static JsonObject load(String triples) {
        data = DatasetGraphFactory.createTxnMem();
        LabelToNode labels = LabelToNode.createUseLabelAsGiven();
        data.executeWrite(() -> RDFParser.fromString(triples, Lang.NTRIPLES).labelToNode(labels).parse(data));
        return new JsonObject();
    }

    private static JsonObject select(String text) {
        Query query = QueryFactory.create(text, BASE, Syntax.syntaxSPARQL_11);
        List<Var> variables = query.getProjectVars();
        return rows(query, variables, binding -> {
            JsonArray row = new JsonArray();
            for (Var variable : variables) row.add(term(binding.get(variable)));
            return row;
        });
    }

    private static JsonObject cells(String text) {
        Query query = QueryFactory.create(text, BASE, Syntax.syntaxSPARQL_11);
        Query pattern = QueryFactory.make();
        pattern.setQuerySelectType();
        pattern.setQueryResultStar(true);
        pattern.setQueryPattern(query.getQueryPattern());
        FunctionEnv environment = new FunctionEnvBase(ARQ.getContext());
        return rows(pattern, query.getProjectVars(), binding -> {
            JsonArray row = new JsonArray();
            for (Var variable : query.getProjectVars()) {
                Expr expression = query.getProject().getExpr(variable);
                row.add(expression == null ? term(binding.get(variable)) : value(expression, binding, environment));
            }
            return row;
        });
    }

    private static JsonObject rows(Query query, List<Var> variables, Function<Binding, JsonArray> row) {
        JsonArray names = new JsonArray();
        for (Var variable : variables) names.add(variable.getVarName());
        JsonArray rows = new JsonArray();
        data.executeRead(() -> {
            try (QueryExec asked = QueryExec.dataset(data).query(query).timeout(60, TimeUnit.SECONDS).build()) {
                RowSet found = asked.select();
                while (found.hasNext()) rows.add(row.apply(found.next()));
            }
        });
        JsonObject answer = new JsonObject();
        answer.put("variables", names);
        answer.put("rows", rows);
        return answer;
    }

    /** The term; ["!", text] where ARQ fails with another exception than that of an expression's error. */
    private static JsonArray value(Expr expression, Binding binding, FunctionEnv environment) {
        try {
            return term(expression.eval(binding, environment).asNode());
        } catch (ExprEvalException error) {
            return new JsonArray();
        } catch (RuntimeException error) {
            return array("!", error.toString());
        }
    }

    /** ["<", IRI], ["_", label] or ["\"", lexical form, datatype, language tag]; [] for no term. */
    private static JsonArray term(Node node) {
        if (node == null) return new JsonArray();
        if (node.isURI()) return array("<", node.getURI());
        if (node.isBlank()) return array("_", node.getBlankNodeLabel());
        return array("\"", node.getLiteralLexicalForm(), node.getLiteralDatatypeURI(), node.getLiteralLanguage());
    }

    private static JsonArray array(String... texts) {
        JsonArray made = new JsonArray();
        for (String text : texts) made.add(text);
        return made;
    }
}
